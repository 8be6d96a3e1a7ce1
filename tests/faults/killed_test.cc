// Ranks that are killed for real, at every stage of a communicator's life.
#include <gtest/gtest.h>

#include <random>

#include "faults/survivors.h"

namespace ripieno::test {
namespace {

using namespace std::chrono_literals;

constexpr int kVictim = 1;

/// Three processes of one rank each; `victim_does` runs on rank 1 and must end with its death,
/// `survivors_do` on the others. Both run after a working all-reduce. Then survivors must know who
/// died, and leave nothing behind.
template <typename Victim, typename Survivor>
void run_with_victim(Victim victim_does, Survivor survivors_do) {
  for (const bool abort : {true, false}) {
    run_ranks(in_processes(3),
              [victim_does, survivors_do, abort](Party& party) {
                warm_up();
                const ProcessState before = ProcessState::now();
                party.init();
                expect_working(party);
                party.barrier();
                Rank& rank = party.rank();
                if (rank.number == kVictim) {
                  victim_does(party);
                  ADD_FAILURE() << "the victim is alive";
                  return;
                }
                survivors_do(party);
                expect_told(rank, "rank 1");
                leave(party, before, abort);
              },
              {.killed = {kVictim}});
  }
}

TEST(Killed, WhileIdle) {
  run_with_victim([](Party&) { die(); }, [](Party&) {});
}

TEST(Killed, BeforeASmallCollectiveThatOthersAreIn) {
  run_with_victim([](Party&) { die(); },
                  [](Party& party) {
                    Rank& rank = party.rank();
                    const Buffer buffer(MemoryKind::kDevice, 40, rank.stream);
                    ncclAllReduce(buffer.data(), buffer.data(), 10, ncclInt32, ncclSum, rank.comm,
                                  rank.stream);
                    check(cudaStreamSynchronize(rank.stream));
                  });
}

/// Collectives without end, until one fails.
void run_collectives(Party& party, MemoryKind kind, std::size_t count) {
  Rank& rank = party.rank();
  const Buffer buffer(kind, count * 4, rank.stream);
  while (ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt32, ncclSum, rank.comm,
                       rank.stream) == ncclSuccess) {
    check(cudaStreamSynchronize(rank.stream));
  }
}

TEST(Killed, Case107_InTheMiddleOfCollectives) {
  const int shared_files = ProcessState::now().shared_memory_files;
  std::mt19937 random(7);
  for (const auto& [kind, count] :
       {std::pair(MemoryKind::kDevice, 8UL), std::pair(MemoryKind::kDevice, 5000UL),
        std::pair(MemoryKind::kDevice, 4'000'000UL), std::pair(MemoryKind::kHeap, 1'000'000UL)}) {
    for (int round = 0; round < (kSanitized ? 1 : 3); ++round) {
      SCOPED_TRACE(std::to_string(count) + " elements");
      const std::chrono::microseconds delay{random() % 20'000};
      run_with_victim(
          [kind, count, delay](Party& party) {
            die_in(delay);
            run_collectives(party, kind, count);
            std::this_thread::sleep_for(10s);
          },
          [kind, count](Party& party) { run_collectives(party, kind, count); });
    }
  }
  EXPECT_EQ(ProcessState::now().shared_memory_files, shared_files);
}

TEST(Killed, WhileOthersSendToAndReceiveFromIt) {
  for (const std::size_t bytes : {10UL, 100'000UL, 8'000'000UL}) {
    for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHeap}) {
      run_with_victim(
          [bytes, kind](Party& party) {
            Rank& rank = party.rank();
            const Buffer buffer(kind, bytes, rank.stream);
            die_in(2ms);
            for (;;) {
              check(ncclGroupStart());
              check(ncclRecv(buffer.data(), bytes, ncclInt8, 0, rank.comm, rank.stream));
              check(ncclSend(buffer.data(), bytes, ncclInt8, 2, rank.comm, rank.stream));
              check(ncclGroupEnd());
              check(cudaStreamSynchronize(rank.stream));
            }
          },
          [bytes, kind](Party& party) {
            Rank& rank = party.rank();
            const Buffer buffer(kind, bytes, rank.stream);
            ncclResult_t result = ncclSuccess;
            while (result == ncclSuccess) {
              result =
                  rank.number == 0
                      ? ncclSend(buffer.data(), bytes, ncclInt8, kVictim, rank.comm, rank.stream)
                      : ncclRecv(buffer.data(), bytes, ncclInt8, kVictim, rank.comm, rank.stream);
              check(cudaStreamSynchronize(rank.stream));
            }
          });
    }
  }
}

TEST(Killed, AProcessOfSeveralRanks) {
  run_ranks(
      mixed(5),
      [](Party& party) {
        party.init();
        expect_working(party);
        party.barrier();
        if (party.process() == 1) {
          die();
        }
        party.each([](Rank& rank) { expect_told(rank, "died"); });
        party.each([](Rank& rank) { check(ncclCommAbort(std::exchange(rank.comm, nullptr))); });
      },
      {.killed = {1}});
}

TEST(Killed, ExitWithoutDestroyIsADeathToo) {
  run_ranks(in_processes(3), [](Party& party) {
    party.init();
    expect_working(party);
    party.barrier();
    if (party.rank().number == kVictim) {
      // Leaves as a program that forgets to clean up: the destructors of its party do not run.
      std::exit(0);
    }
    expect_told(party.rank(), "rank 1");
    check(ncclCommAbort(std::exchange(party.rank().comm, nullptr)));
  });
}

TEST(Killed, Case032_OthersAbortAllTheirCommunicators) {
  run_ranks(in_processes(3),
            [](Party& party) {
              party.init();
              const ncclComm_t second = party.make_communicators(1).front();
              party.barrier();
              if (party.rank().number == 2) {
                die();
              }
              expect_told(party.rank(), "rank 2");
              check(ncclCommAbort(std::exchange(party.rank().comm, nullptr)));
              check(ncclCommAbort(second));
            },
            {.killed = {2}});
}

// ---- During init ----

/// ncclRemoteError with `who`. A rank that comes when everything is over cannot tell an id whose
/// ranks failed from one that was used before: it gets ncclInvalidUsage and is told of both. One
/// that comes in the moment of the end learns that it was not heard.
void expect_init_failure(ncclResult_t result, const std::string& who) {
  const std::string sentence = ncclGetLastError(nullptr);
  if (result == ncclInvalidUsage) {
    EXPECT_NE(sentence.find("is over"), std::string::npos) << sentence;
    return;
  }
  EXPECT_EQ(result, ncclRemoteError) << sentence;
  const bool unheard = sentence.find("ended before it heard rank") != std::string::npos;
  EXPECT_TRUE(unheard || sentence.find(who) != std::string::npos) << sentence;
}

TEST(Killed, WhileItWaitsInInitForOthers) {
  for (const int victim : {1, 0}) {
    SCOPED_TRACE("victim " + std::to_string(victim));
    run_ranks(in_processes(3),
              [victim](Party& party) {
                Rank& rank = party.rank();
                const ncclUniqueId id = party.id(0);
                if (rank.number == victim) {
                  die_in(300ms);
                }
                if (rank.number == 2) {
                  // Joins when the victim is gone.
                  wait_until(
                      [victim] {
                        return kill(board().process_ids[static_cast<std::size_t>(victim)], 0) != 0;
                      },
                      "the victim's end");
                }
                const ncclResult_t result = ncclCommInitRank(&rank.comm, 3, id, rank.number);
                EXPECT_EQ(rank.comm, nullptr);
                // With rank 0's process the rendezvous is gone, which knows ranks only by their
                // arrival.
                expect_init_failure(result, victim == 0 ? "ended" : "ank 1");
              },
              {.environment = {"RIPIENO_INIT_TIMEOUT=20"}, .killed = {victim}, .limit = 60s});
  }
}

TEST(Killed, AtAnyMomentOfInit) {
  std::mt19937 random(3);
  for (int round = 0; round < (kSanitized ? 4 : 16); ++round) {
    const int victim = round % 3;
    const std::chrono::microseconds delay{random() % (kSanitized ? 60'000 : 6000)};
    SCOPED_TRACE("victim " + std::to_string(victim) + " after " + std::to_string(delay.count()) +
                 " us");
    run_ranks(in_processes(3),
              [victim, delay](Party& party) {
                warm_up();
                Rank& rank = party.rank();
                const ncclUniqueId id = party.id(0);
                check(cudaStreamCreate(&rank.stream));
                if (rank.number == victim) {
                  die_in(delay);
                }
                const ncclResult_t result = ncclCommInitRank(&rank.comm, 3, id, rank.number);
                if (rank.number == victim) {
                  std::this_thread::sleep_for(10s);
                }
                if (result == ncclSuccess) {
                  expect_told(rank, "rank " + std::to_string(victim));
                  check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
                } else {
                  expect_init_failure(result, "");
                }
              },
              {.environment = {"RIPIENO_INIT_TIMEOUT=20"}, .killed = {victim}, .limit = 60s});
  }
}

}  // namespace
}  // namespace ripieno::test

// Ranks that wait for peers which do not come: abort frees them, a stall is reported, what a peer
// leaves is told.
#include <gtest/gtest.h>

#include <functional>

#include "faults/survivors.h"

namespace ripieno::test {
namespace {

using namespace std::chrono_literals;

/// What rank 0 waits in.
enum class Wait { kSmallCollective, kLargeCollective, kStagedCollective, kSend, kReceive, kGroup };

void start_waiting(Wait wait, const Rank& rank, const Buffer& device, const Buffer& heap) {
  std::byte* const data = wait == Wait::kStagedCollective ? heap.data() : device.data();
  const std::size_t count = wait == Wait::kSmallCollective ? 4 : device.size();
  switch (wait) {
    case Wait::kSmallCollective:
    case Wait::kLargeCollective:
    case Wait::kStagedCollective:
      check(ncclAllReduce(data, data, count, ncclInt8, ncclSum, rank.comm, rank.stream));
      break;
    case Wait::kSend:
      check(ncclSend(data, count, ncclInt8, 1, rank.comm, rank.stream));
      break;
    case Wait::kReceive:
      check(ncclRecv(data, count, ncclInt8, 1, rank.comm, rank.stream));
      break;
    case Wait::kGroup:
      check(ncclGroupStart());
      check(ncclAllReduce(data, data, count, ncclInt8, ncclSum, rank.comm, rank.stream));
      check(ncclRecv(heap.data(), count, ncclInt8, 1, rank.comm, rank.stream));
      check(ncclGroupEnd());
      break;
  }
}

constexpr std::array kWaits = {Wait::kSmallCollective,  Wait::kLargeCollective,
                               Wait::kStagedCollective, Wait::kSend,
                               Wait::kReceive,          Wait::kGroup};

TEST(Waiting, AbortEndsWhateverWaits) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_ranks(placement, [](Party& party) {
      warm_up();
      int round = 0;
      for (const Wait wait : kWaits) {
        party.barrier();
        const std::vector<ncclComm_t> comms = party.make_communicators(round++);
        Rank& rank = party.rank();
        rank.comm = comms.front();
        check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
        if (rank.number == 0) {
          const Buffer device(MemoryKind::kDevice, 1 << 20, rank.stream);
          const Buffer heap(MemoryKind::kHeap, 1 << 20, rank.stream);
          start_waiting(wait, rank, device, heap);
          std::this_thread::sleep_for(20ms);
          const auto begin = std::chrono::steady_clock::now();
          check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
          check(cudaStreamSynchronize(rank.stream));
          // A bound against waiting for a peer, not a measurement.
          EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s * kSlowdown);
        }
        party.barrier();
        if (rank.number == 1) {
          expect_aborted_peer(rank);
          check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
        }
        check(cudaStreamDestroy(std::exchange(rank.stream, nullptr)));
      }
    });
  }
}

TEST(Waiting, AbortFromAnotherThreadWhileTheStreamIsWaitedFor) {
  run_ranks(in_processes(2), [](Party& party) {
    party.init();
    Rank& rank = party.rank();
    if (rank.number == 0) {
      const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
      check(ncclAllReduce(buffer.data(), buffer.data(), 1 << 20, ncclInt8, ncclSum, rank.comm,
                          rank.stream));
      const std::jthread aborter([comm = std::exchange(rank.comm, nullptr)] {
        std::this_thread::sleep_for(50ms);
        ncclCommAbort(comm);
      });
      check(cudaStreamSynchronize(rank.stream));
    }
    party.barrier();
  });
}

TEST(Waiting, NothingIsLeftAfterManyLives) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_ranks(placement, [](Party& party) {
      warm_up();
      party.init();
      expect_working(party, 100'000);
      party.destroy();
      party.barrier();
      // Threads of one process see each other's things: each looks when all have come to rest.
      const ProcessState before = ProcessState::now();
      party.barrier();
      for (int round = 1; round < 12; ++round) {
        Rank& rank = party.rank();
        rank.comm = party.make_communicators(round).front();
        check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
        expect_working(party, 100'000);
        party.barrier();
        if (round % 2 == 0) {
          party.destroy();
        } else {
          check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
          check(cudaStreamDestroy(std::exchange(rank.stream, nullptr)));
        }
        party.barrier();
      }
      expect_state_again(before);
      party.barrier();
    });
  }
}

TEST(Waiting, StoppedPeerIsReportedAndWorkGoesOnWhenItIsBack) {
  const LogFiles logs("stopped");
  std::vector<std::string> environment = logs.environment();
  environment.emplace_back("RIPIENO_STALL_SECONDS=1");
  run_ranks(in_processes(3),
            [](Party& party) {
              party.init();
              Rank& rank = party.rank();
              party.barrier();
              const int stopped = board().process_ids[1];
              if (rank.number == 0) {
                kill(stopped, SIGSTOP);
                board().words[0] = 1;
              } else {
                wait_until([] { return board().words[0] != 0; }, "the stop");
              }
              const Buffer buffer = buffer_of(std::vector<std::int32_t>(50'000, 2), rank.stream);
              check(ncclAllReduce(buffer.data(), buffer.data(), 50'000, ncclInt32, ncclSum,
                                  rank.comm, rank.stream));
              if (rank.number == 0) {
                const std::string process = "process " + std::to_string(stopped);
                wait_until(
                    [&] {
                      return LogFiles::has_line(
                          {"WARN", "AllReduce", "has waited", "rank(s) 1", process, "rank 1 "});
                    },
                    "the report of a stall");
                kill(stopped, SIGCONT);
              }
              party.synchronize();
              EXPECT_EQ(buffer.download_as<std::int32_t>(), std::vector<std::int32_t>(50'000, 6));
              EXPECT_EQ(async_error(rank.comm), ncclSuccess);
              party.destroy();
              LogFiles::remove_own();
            },
            {.environment = environment});
}

TEST(Waiting, PeerThatDestroyedItsCommunicatorIsMissed) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_ranks(placement, [](Party& party) {
      party.init();
      Rank& rank = party.rank();
      expect_working(party);
      if (rank.number == 1) {
        party.destroy();
      } else {
        const Buffer buffer(MemoryKind::kDevice, 64, rank.stream);
        ncclAllReduce(buffer.data(), buffer.data(), 64, ncclInt8, ncclSum, rank.comm, rank.stream);
        check(cudaStreamSynchronize(rank.stream));
        expect_told(rank, "rank 1 destroyed");
        check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
      }
      party.barrier();
    });
  }
}

TEST(Waiting, DestroyWithWorkUnderWayAndADeadPeer) {
  run_ranks(in_processes(2),
            [](Party& party) {
              party.init();
              Rank& rank = party.rank();
              expect_working(party);
              party.barrier();
              if (rank.number == 1) {
                die_in(50ms);
                std::this_thread::sleep_for(10s);
              }
              const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
              ncclAllReduce(buffer.data(), buffer.data(), 1 << 20, ncclInt8, ncclSum, rank.comm,
                            rank.stream);
              check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
              check(cudaStreamSynchronize(rank.stream));
            },
            {.killed = {1}});
}

}  // namespace
}  // namespace ripieno::test

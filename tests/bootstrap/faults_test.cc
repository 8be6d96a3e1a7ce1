// What goes wrong: contradictions, deaths, strangers, forgers, impatience, signals. Every rank must
// hear of it, soon, with a sentence; nobody may hang or be disturbed by strangers.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <random>

#include "base/deadline.h"
#include "bootstrap/connector.h"
#include "bootstrap/messages.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/unique_id.h"
#include "company.h"

namespace ripieno::bootstrap::testing {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

AssertionResult says(const Outcome& outcome, ncclResult_t result, const std::string& part) {
  if (outcome.result == result && outcome.sentence.find(part) != std::string::npos) {
    return AssertionSuccess();
  }
  return AssertionFailure() << result_name(outcome.result) << ": " << outcome.sentence;
}

/// A stranger's connection to `address`; once the rendezvous is over it is refused, which is fine
/// too.
int connect_stranger(const Address& address) {
  sockaddr_storage storage;
  const socklen_t length = address.to_system(storage);
  const int socket = ::socket(address.system_family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)::connect(socket, reinterpret_cast<sockaddr*>(&storage), length);
  return socket;
}

/// A rank that knows the secret and says whatever it likes.
std::unique_ptr<Channel> connect_insider(const UniqueId& id, int rank) {
  static Cancellation never;
  const Route route{.address = id.address,
                    .purpose = Purpose::kRendezvous,
                    .from = rank,
                    .key = rendezvous_key(id.secret),
                    .server_nonce = std::nullopt,
                    .peer = "the rendezvous",
                    .frame_limit = kRendezvousFrameLimit};
  const Persistence once{milliseconds(0), milliseconds(0), milliseconds(5000)};
  return connect_along(route, once, Deadline::after(milliseconds(5000)), never).channel;
}

// ---- Contradictions ----

TEST(Contradiction, BytesThatAreNoId) {
  ncclUniqueId zeros{};
  EXPECT_TRUE(says(outcome_of([&] { (void)join_one(zeros, 0, 2); }), ncclInvalidArgument,
                   "was not made by ncclGetUniqueId"));
  EXPECT_TRUE(
      says(outcome_of([&] { (void)join_one(zeros, 0, 1); }), ncclInvalidArgument, "unique id"));
}

TEST(Contradiction, EveryDamagedByteOfAnIdIsNoticed) {
  const ncclUniqueId id = create_unique_id();
  for (std::size_t byte = 0; byte < sizeof(id.internal); ++byte) {
    ncclUniqueId damaged = id;
    damaged.internal[byte] = static_cast<char>(damaged.internal[byte] ^ 0x10);
    EXPECT_FALSE(decode(damaged)) << byte;
  }
  EXPECT_TRUE(decode(id));
  dismiss_rendezvous(decode(id)->secret);
}

TEST(Contradiction, RankOrNumberOfIdsOutOfRange) {
  const ncclUniqueId id = create_unique_id();
  EXPECT_TRUE(
      says(outcome_of([&] { (void)join_one(id, 2, 2); }), ncclInvalidArgument, "Rank 2 of 2"));
  EXPECT_TRUE(says(outcome_of([&] { (void)join_one(id, -1, 2); }), ncclInvalidArgument, "Rank -1"));
  const std::vector<ncclUniqueId> ids(3, id);
  Cancellation never;
  EXPECT_TRUE(
      says(outcome_of([&] { (void)join(ids, {.rank = 0, .ranks = 2}, milliseconds(1000), never); }),
           ncclInvalidArgument, "3 unique ids for 2 ranks"));
  dismiss_rendezvous(decode(id)->secret);
}

TEST(Contradiction, NumberOfRanksDiffersAndAllAreTold) {
  const ncclUniqueId id = create_unique_id();
  const auto outcomes =
      run_threads(3, [&](int rank) { (void)join_one(id, rank, rank == 2 ? 4 : 3); });
  for (const Outcome& outcome : outcomes) {
    EXPECT_TRUE(says(outcome, ncclInvalidArgument, "disagree on their number"));
  }
}

TEST(Contradiction, ARankTwiceAndAllAreTold) {
  const ncclUniqueId id = create_unique_id();
  const auto outcomes =
      run_threads(3, [&](int thread) { (void)join_one(id, thread == 2 ? 1 : thread, 3); });
  for (const Outcome& outcome : outcomes) {
    EXPECT_TRUE(says(outcome, ncclInvalidArgument, "both want to be rank 1"));
  }
}

TEST(Contradiction, AnIdUsedTwiceFailsFast) {
  const ncclUniqueId id = create_unique_id();
  expect_all_succeed(run_threads(2, [&](int rank) { (void)join_one(id, rank, 2); }));
  for (const Outcome& outcome : run_threads(2, [&](int rank) { (void)join_one(id, rank, 2); })) {
    EXPECT_TRUE(says(outcome, ncclInvalidUsage, "already used"));
  }
}

TEST(Contradiction, AnIdUsedTwiceByOtherProcessesFailsFast) {
  Processes processes(2, [](int rank, const ncclUniqueId& id) {
    join_one(id, rank, 2)->barrier();
    // Without what this process remembers: the closed port alone must tell.
    if (rank == 1) (void)join_one(id, rank, 2);
  });
  EXPECT_EQ(processes.outcome(0).result, ncclSuccess);
  EXPECT_TRUE(says(processes.outcome(1), ncclInvalidUsage, "already used"));
}

TEST(Contradiction, DifferentVersionsAreNamed) {
  const ncclUniqueId id = create_unique_id();
  const UniqueId decoded = *decode(id);
  Outcome honest;
  std::thread first([&] { honest = outcome_of([&] { (void)join_one(id, 0, 2); }); });
  const auto insider = connect_insider(decoded, 1);
  ASSERT_TRUE(insider);
  JoinRequest request{.version = "9.8.7", .rank = 1, .ranks = 2, .listener = decoded.address};
  insider->queue(FrameType::kJoin, encode(request));
  insider->flush();
  first.join();
  EXPECT_TRUE(says(honest, ncclInvalidUsage, "9.8.7"));
  EXPECT_TRUE(says(honest, ncclInvalidUsage, std::string(kLibraryVersion)));
}

TEST(Contradiction, ARequestThatCannotBeReadEndsTheRendezvous) {
  const ncclUniqueId id = create_unique_id();
  Outcome honest;
  std::thread first([&] { honest = outcome_of([&] { (void)join_one(id, 0, 2); }); });
  const auto insider = connect_insider(*decode(id), 1);
  ASSERT_TRUE(insider);
  insider->queue(FrameType::kGather, std::vector<std::byte>(30));
  insider->flush();
  first.join();
  EXPECT_NE(honest.result, ncclSuccess);
}

TEST(Contradiction, ExchangesOfDifferentSizesAreTold) {
  const ncclUniqueId id = create_unique_id();
  const auto outcomes = run_threads(10, [&](int rank) {
    const auto bootstrap = join_one(id, rank, 10);
    (void)bootstrap->all_gather(std::vector<std::byte>(rank == 9 ? 8 : 4));
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_TRUE(says(outcome, ncclInvalidUsage, "out of step"));
  }
}

TEST(Contradiction, TheSameIdTwiceInAList) {
  const ncclUniqueId id = create_unique_id();
  const std::vector<ncclUniqueId> ids(2, id);
  Cancellation never;
  EXPECT_TRUE(
      says(outcome_of([&] { (void)join(ids, {.rank = 0, .ranks = 2}, milliseconds(1000), never); }),
           ncclInvalidArgument, "passed twice"));
  dismiss_rendezvous(decode(id)->secret);
}

// ---- Deaths and departures ----

TEST(Death, OfAnyRankAtAnyMomentIsToldToAllOthers) {
  constexpr int kRanks = 11;  // Two levels below rank 0.
  std::mt19937 random(20240607);
  for (int round = 0; round < 12; ++round) {
    const int victim = static_cast<int>(random() % kRanks);
    Processes processes(kRanks, [](int rank, const ncclUniqueId& id) {
      // Short: a rank that is killed before it has said a word can only be missed.
      const auto bootstrap = join_one(id, rank, kRanks, milliseconds(4000));
      while (true) (void)bootstrap->all_gather(std::vector<std::byte>(64));
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    processes.kill(victim);
    for (int rank = 0; rank < kRanks; ++rank) {
      const Outcome outcome = processes.outcome(rank);
      if (rank == victim) continue;
      // Who comes after the death finds the rendezvous closed.
      const bool is_late = says(outcome, ncclInvalidUsage, "is over");
      EXPECT_TRUE(outcome.result == ncclRemoteError || is_late)
          << "round " << round << " victim " << victim << " rank " << rank << ": "
          << outcome.sentence;
    }
  }
}

TEST(Death, IsNamed) {
  constexpr int kRanks = 10;
  Processes processes(kRanks, [](int rank, const ncclUniqueId& id) {
    const auto bootstrap = join_one(id, rank, kRanks);
    bootstrap->barrier();
    if (rank == 9) ::raise(SIGKILL);
    bootstrap->barrier();
  });
  for (int rank = 0; rank < 9; ++rank) {
    EXPECT_TRUE(says(processes.outcome(rank), ncclRemoteError, "Rank 9 ended")) << rank;
  }
}

TEST(Death, OfAPeerEndsAReceive) {
  Processes processes(3, [](int rank, const ncclUniqueId& id) {
    const auto bootstrap = join_one(id, rank, 3);
    if (rank == 1) {
      bootstrap->send(2, 1, {});
      ::raise(SIGKILL);
    }
    if (rank == 2) (void)bootstrap->receive(1, 1);
    (void)bootstrap->receive(1, 2);
  });
  EXPECT_TRUE(says(processes.outcome(0), ncclRemoteError, "Rank 1"));
  EXPECT_TRUE(says(processes.outcome(2), ncclRemoteError, "Rank 1"));
}

TEST(Death, ARankThatLeavesInOrderIsMissedByWhoNeedsIt) {
  const ncclUniqueId id = create_unique_id();
  const auto outcomes = run_threads(4, [&](int rank) {
    const auto bootstrap = join_one(id, rank, 4);
    if (rank != 3) bootstrap->barrier();
  });
  EXPECT_EQ(outcomes[3].result, ncclSuccess);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(says(outcomes[static_cast<std::size_t>(rank)], ncclRemoteError, "Rank 3 has left"));
  }
}

TEST(Death, AfterAFailureEveryCallFailsTheSameWay) {
  const ncclUniqueId id = create_unique_id();
  const auto outcomes = run_threads(2, [&](int rank) {
    const auto bootstrap = join_one(id, rank, 2);
    if (rank == 1) return;
    const Outcome first = outcome_of([&] { bootstrap->barrier(); });
    const Outcome second = outcome_of([&] { bootstrap->send(1, 0, {}); });
    EXPECT_EQ(first.sentence, second.sentence);
  });
  expect_all_succeed(outcomes);
}

// ---- Impatience and cancellation ----

TEST(Impatience, TheMissingRankIsNamedToAllWhoWait) {
  const ncclUniqueId id = create_unique_id();
  const auto outcomes = run_threads(3, [&](int thread) {
    (void)join_one(id, thread < 1 ? thread : thread + 1, 4, milliseconds(300));
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_TRUE(says(outcome, ncclRemoteError, "3 of 4 ranks joined after 0."));
    EXPECT_TRUE(says(outcome, ncclRemoteError, "missing: 1"));
  }
}

TEST(Impatience, AnIncompleteGroupIsNamedToTheOthers) {
  const std::vector ids{create_unique_id(), create_unique_id()};
  Cancellation never;
  const auto outcomes = run_threads(
      3, [&](int rank) { (void)join(ids, {.rank = rank, .ranks = 4}, milliseconds(300), never); });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result, ncclRemoteError) << outcome.sentence;
  }
  EXPECT_TRUE(says(outcomes[2], ncclRemoteError, "missing: 3"));
}

TEST(Impatience, OfAnExchangeNamesWhoDidNotCome) {
  const ncclUniqueId id = create_unique_id();
  std::atomic<int> done{0};
  const auto outcomes = run_threads(10, [&](int rank) {
    const auto bootstrap = join_one(id, rank, 10, milliseconds(1500));
    if (rank == 9) {
      // Neither comes nor leaves until the others have given up.
      EXPECT_TRUE(eventually([&] { return done == 9; }));
      return;
    }
    const Outcome outcome = outcome_of([&] { bootstrap->barrier(); });
    ++done;
    if (outcome.result != ncclSuccess) throw Error(outcome.result, "{}", outcome.sentence);
  });
  for (int rank = 0; rank < 9; ++rank) {
    EXPECT_TRUE(
        says(outcomes[static_cast<std::size_t>(rank)], ncclRemoteError, "have yet to come: 9"));
  }
}

TEST(Cancelling, WakesARankThatWaitsForOthersAndLeavesNothing) {
  const std::size_t descriptors = open_descriptors();
  const std::size_t threads = running_threads();
  {
    const ncclUniqueId id = create_unique_id();
    Cancellation cancellation;
    Outcome outcome;
    std::thread rank([&] {
      outcome = outcome_of([&] {
        (void)join({&id, 1}, {.rank = 0, .ranks = 2}, milliseconds(60'000), cancellation);
      });
    });
    std::this_thread::sleep_for(milliseconds(30));
    cancellation.cancel();
    rank.join();
    EXPECT_TRUE(says(outcome, ncclInvalidUsage, "aborted"));
  }
  EXPECT_TRUE(eventually([&] { return running_threads() <= threads; }));
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; }));
}

TEST(Cancelling, WakesAnExchangeAndTheOthersHearOfIt) {
  const ncclUniqueId id = create_unique_id();
  std::vector<Cancellation> cancellations(3);
  std::atomic<int> joined{0};
  std::thread canceller([&] {
    EXPECT_TRUE(eventually([&] { return joined == 3; }));
    cancellations[1].cancel();
  });
  const auto outcomes = run_threads(3, [&](int rank) {
    const auto bootstrap = join({&id, 1}, {.rank = rank, .ranks = 3}, milliseconds(20'000),
                                cancellations[static_cast<std::size_t>(rank)]);
    ++joined;
    (void)bootstrap->receive((rank + 1) % 3, 77);
  });
  canceller.join();
  EXPECT_TRUE(says(outcomes[1], ncclInvalidUsage, "aborted"));
  EXPECT_EQ(outcomes[0].result, ncclRemoteError) << outcomes[0].sentence;
}

TEST(Cancelling, BeforeJoiningIsHeardAtOnce) {
  const ncclUniqueId id = create_unique_id();
  Cancellation cancelled;
  cancelled.cancel();
  EXPECT_TRUE(says(outcome_of([&] {
                     (void)join({&id, 1}, {.rank = 0, .ranks = 2}, milliseconds(60'000), cancelled);
                   }),
                   ncclInvalidUsage, "aborted"));
  dismiss_rendezvous(decode(id)->secret);
}

// ---- Strangers ----

TEST(Strangers, DisturbNobody) {
  const ncclUniqueId id = create_unique_id();
  const Address address = decode(id)->address;
  std::atomic<bool> stop{false};
  std::vector<int> silent;
  for (int count = 0; count < 300; ++count) silent.push_back(connect_stranger(address));
  std::thread dripping([&] {
    const HelloBytes hello =
        encode(Hello{.purpose = Purpose::kRendezvous, .from = 1, .nonce = random_key()});
    const int socket = connect_stranger(address);
    for (std::size_t byte = 0; byte < hello.size() && !stop; ++byte) {
      ::send(socket, &hello[byte], 1, MSG_NOSIGNAL);
      std::this_thread::sleep_for(milliseconds(10));
    }
    ::close(socket);
  });
  std::thread shouting([&] {
    const std::string text = "GET / HTTP/1.1\r\nHost: example\r\n\r\n";
    while (!stop) {
      const int socket = connect_stranger(address);
      ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
      ::close(socket);
    }
  });
  const auto outcomes = run_threads(8, [&](int rank) {
    const auto bootstrap = join_one(id, rank, 8);
    bootstrap->barrier();
    stop = stop || rank == 0;
  });
  stop = true;
  expect_all_succeed(outcomes);
  dripping.join();
  shouting.join();
  for (const int socket : silent) ::close(socket);
}

TEST(Strangers, AForgerWithoutTheSecretIsNotBelieved) {
  const ncclUniqueId id = create_unique_id();
  UniqueId guessed = *decode(id);
  guessed.secret[5] ^= std::byte{1};
  EXPECT_FALSE(connect_insider(guessed, 1));
  expect_all_succeed(run_threads(2, [&](int rank) { (void)join_one(id, rank, 2); }));
}

TEST(Strangers, ARepeatedConversationIsNotBelieved) {
  // A relay between rank 1 and the rendezvous keeps what rank 1 said, and says it again first.
  const ncclUniqueId id = create_unique_id();
  const Address address = decode(id)->address;
  const HelloBytes hello =
      encode(Hello{.purpose = Purpose::kRendezvous, .from = 1, .nonce = random_key()});
  const int first = connect_stranger(address);
  ASSERT_EQ(::send(first, hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  Challenge challenge;
  ASSERT_EQ(::recv(first, challenge.data(), challenge.size(), MSG_WAITALL),
            static_cast<ssize_t>(challenge.size()));
  // The server proved itself over a fresh nonce: what was right once is wrong now.
  Nonce nonce;
  std::memcpy(nonce.data(), challenge.data(), nonce.size());
  const Key proof = Handshake(rendezvous_key(decode(id)->secret), hello, nonce).client_proof();
  const int second = connect_stranger(address);
  ::send(second, hello.data(), hello.size(), 0);
  ::recv(second, challenge.data(), challenge.size(), MSG_WAITALL);
  ::send(second, proof.data(), proof.size(), 0);
  char byte;
  EXPECT_LE(::recv(second, &byte, 1, 0), 0) << "the rendezvous hangs up";
  ::close(first);
  ::close(second);
  expect_all_succeed(run_threads(2, [&](int rank) { (void)join_one(id, rank, 2); }));
}

// ---- Signals ----

TEST(Signals, AStormOfThemChangesNothing) {
  constexpr int kRanks = 4;
  Processes processes(kRanks, [](int rank, const ncclUniqueId& id) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);  // Without SA_RESTART: every call is interrupted.
    const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 300},
                          .it_value = {.tv_sec = 0, .tv_usec = 300}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    const auto bootstrap = join_one(id, rank, kRanks);
    for (int round = 0; round < 200; ++round)
      (void)bootstrap->all_gather(std::vector<std::byte>(1000));
    bootstrap->send((rank + 1) % kRanks, 1, std::vector<std::byte>(100'000));
    (void)bootstrap->receive((rank + kRanks - 1) % kRanks, 1);
    bootstrap->barrier();
    const itimerval off{};
    ::setitimer(ITIMER_REAL, &off, nullptr);
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    const Outcome outcome = processes.outcome(rank);
    EXPECT_EQ(outcome.result, ncclSuccess) << outcome.sentence;
  }
}

}  // namespace
}  // namespace ripieno::bootstrap::testing

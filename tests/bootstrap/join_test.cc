// What works: joining from threads and processes, exchanges, messages, several ids, nothing left
// behind.
#include <fcntl.h>

#include <algorithm>
#include <random>
#include <set>

#include "bootstrap/unique_id.h"
#include "company.h"

namespace ripieno::bootstrap::testing {
namespace {

/// A rank's contribution that no other rank would make.
std::vector<std::byte> contribution(int rank, std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void expect_exchange(Bootstrap& bootstrap, std::size_t size) {
  const auto all = bootstrap.all_gather(contribution(bootstrap.rank(), size));
  ASSERT_EQ(all.size(), size * static_cast<std::size_t>(bootstrap.ranks()));
  for (int rank = 0; rank < bootstrap.ranks(); ++rank) {
    const auto expected = contribution(rank, size);
    EXPECT_TRUE(std::equal(
        expected.begin(), expected.end(),
        all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * size)))
        << "rank " << bootstrap.rank() << " has wrong bytes of rank " << rank;
  }
}

class JoinRanks : public ::testing::TestWithParam<int> {};

TEST_P(JoinRanks, ThreadsJoinAndExchangeWhateverTheirNumber) {
  const int ranks = GetParam();
  const ncclUniqueId id = create_unique_id();
  expect_all_succeed(run_threads(ranks, [&](int rank) {
    const auto bootstrap = join_one(id, rank, ranks);
    EXPECT_EQ(bootstrap->rank(), rank);
    EXPECT_EQ(bootstrap->ranks(), ranks);
    for (const std::size_t size : {0, 1, 7, 4096}) expect_exchange(*bootstrap, size);
    bootstrap->barrier();
  }));
}

INSTANTIATE_TEST_SUITE_P(Sizes, JoinRanks, ::testing::Values(1, 2, 3, 8, 9, 10, 17, 64));

TEST(Join, ProcessesJoinAndExchange) {
  constexpr int kRanks = 8;
  Processes processes(kRanks, [](int rank, const ncclUniqueId& id) {
    const auto bootstrap = join_one(id, rank, kRanks);
    expect_exchange(*bootstrap, 100);
    if (::testing::Test::HasFailure()) throw Error(ncclInternalError, "wrong bytes");
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    const Outcome outcome = processes.outcome(rank);
    EXPECT_EQ(outcome.result, ncclSuccess) << rank << ": " << outcome.sentence;
  }
}

TEST(Join, RecordsComeBackInRankOrder) {
  struct Record {
    int rank;
    double value;
  };
  const ncclUniqueId id = create_unique_id();
  expect_all_succeed(run_threads(5, [&](int rank) {
    const auto bootstrap = join_one(id, rank, 5);
    const auto records = bootstrap->gather_records(Record{.rank = rank, .value = rank * 0.5});
    for (int other = 0; other < 5; ++other) {
      EXPECT_EQ(records[static_cast<std::size_t>(other)].rank, other);
      EXPECT_EQ(records[static_cast<std::size_t>(other)].value, other * 0.5);
    }
  }));
}

TEST(Join, LargeExchangesPassThroughSmallSocketBuffers) {
  const ncclUniqueId id = create_unique_id();
  expect_all_succeed(run_threads(4, [&](int rank) {
    const auto bootstrap = join_one(id, rank, 4);
    expect_exchange(*bootstrap, std::size_t{3} << 20);
    expect_exchange(*bootstrap, 5);
  }));
}

TEST(Join, HashAndSecretAreSharedAndFresh) {
  std::set<std::uint64_t> hashes;
  std::set<std::array<std::byte, 32>> secrets;
  for (int round = 0; round < 3; ++round) {
    const ncclUniqueId id = create_unique_id();
    std::mutex mutex;
    expect_all_succeed(run_threads(3, [&](int rank) {
      const auto bootstrap = join_one(id, rank, 3);
      const std::lock_guard lock(mutex);
      hashes.insert(bootstrap->hash());
      secrets.insert(bootstrap->secret());
    }));
    EXPECT_EQ(hashes.size(), static_cast<std::size_t>(round + 1));
    EXPECT_EQ(secrets.size(), static_cast<std::size_t>(round + 1));
  }
}

TEST(Join, MessagesAreOrderedPerPeerAndTagAndKeptUntilAskedFor) {
  constexpr int kRanks = 4;
  const ncclUniqueId id = create_unique_id();
  expect_all_succeed(run_threads(kRanks, [&](int rank) {
    const auto bootstrap = join_one(id, rank, kRanks);
    for (int peer = 0; peer < kRanks; ++peer) {
      for (const std::uint64_t tag : {7, 9}) {
        for (int number = 0; number < 3; ++number) {
          const std::array text{static_cast<std::byte>(rank), static_cast<std::byte>(tag),
                                static_cast<std::byte>(number)};
          bootstrap->send(peer, tag, text);
        }
      }
    }
    // The other way round than sent.
    for (int peer = kRanks - 1; peer >= 0; --peer) {
      for (const std::uint64_t tag : {9, 7}) {
        for (int number = 0; number < 3; ++number) {
          const std::vector text{static_cast<std::byte>(peer), static_cast<std::byte>(tag),
                                 static_cast<std::byte>(number)};
          EXPECT_EQ(bootstrap->receive(peer, tag), text);
        }
      }
    }
    bootstrap->barrier();
  }));
}

TEST(Join, TwoRanksSendEachOtherMoreThanSocketsHold) {
  const ncclUniqueId id = create_unique_id();
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  expect_all_succeed(run_threads(2, [&](int rank) {
    const auto bootstrap = join_one(id, rank, 2);
    bootstrap->send(1 - rank, 1, contribution(rank, kBytes));
    EXPECT_EQ(bootstrap->receive(1 - rank, 1), contribution(1 - rank, kBytes));
    bootstrap->barrier();
  }));
}

TEST(Join, MessageOfARankThatHasLeftIsStillReceived) {
  const ncclUniqueId id = create_unique_id();
  std::atomic<bool> left{false};
  expect_all_succeed(run_threads(3, [&](int rank) {
    auto bootstrap = join_one(id, rank, 3);
    if (rank == 1) {
      bootstrap->send(2, 5, contribution(1, 10));
      bootstrap.reset();
      left = true;
    } else if (rank == 2) {
      while (!left) std::this_thread::yield();
      EXPECT_EQ(bootstrap->receive(1, 5), contribution(1, 10));
    }
  }));
}

class ManyIds : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(ManyIds, ShareTheRanks) {
  const auto [ranks, count] = GetParam();
  std::vector<ncclUniqueId> ids;
  for (int made = 0; made < count; ++made) ids.push_back(create_unique_id());
  Cancellation never;
  std::mutex mutex;
  std::set<std::uint64_t> hashes;
  expect_all_succeed(run_threads(ranks, [&, all = ranks](int rank) {
    const auto bootstrap = join(ids, {.rank = rank, .ranks = all}, milliseconds(20'000), never);
    expect_exchange(*bootstrap, 33);
    const std::lock_guard lock(mutex);
    hashes.insert(bootstrap->hash());
  }));
  EXPECT_EQ(hashes.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Shares, ManyIds,
                         ::testing::Values(std::pair{2, 2}, std::pair{7, 3}, std::pair{16, 2},
                                           std::pair{24, 12}, std::pair{5, 5}));

TEST(Join, NothingStaysBehind) {
  const std::size_t descriptors = open_descriptors();
  const std::size_t threads = running_threads();
  for (int round = 0; round < 3; ++round) {
    const ncclUniqueId id = create_unique_id();
    expect_all_succeed(run_threads(9, [&](int rank) {
      const auto bootstrap = join_one(id, rank, 9);
      bootstrap->send((rank + 1) % 9, 0, contribution(rank, 3));
      (void)bootstrap->receive((rank + 8) % 9, 0);
      bootstrap->barrier();
    }));
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; }))
      << open_descriptors() << " after " << descriptors;
  EXPECT_TRUE(eventually([&] { return running_threads() <= threads; }));
}

TEST(Join, OneRankAloneEndsTheRendezvousOfItsId) {
  const std::size_t descriptors = open_descriptors();
  const std::size_t threads = running_threads();
  {
    const ncclUniqueId id = create_unique_id();
    const auto bootstrap = join_one(id, 0, 1);
    expect_exchange(*bootstrap, 12);
    bootstrap->send(0, 3, contribution(0, 4));
    EXPECT_EQ(bootstrap->receive(0, 3), contribution(0, 4));
  }
  EXPECT_TRUE(eventually(
      [&] { return open_descriptors() <= descriptors && running_threads() <= threads; }));
}

TEST(Join, RanksMayComeInAnyOrderAndLate) {
  const ncclUniqueId id = create_unique_id();
  expect_all_succeed(run_threads(10, [&](int rank) {
    std::this_thread::sleep_for(milliseconds((rank * 7) % 10 * 10));
    expect_exchange(*join_one(id, rank, 10), 10);
  }));
}

}  // namespace
}  // namespace ripieno::bootstrap::testing

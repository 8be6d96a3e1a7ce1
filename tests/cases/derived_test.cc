// Communicators made from others: split, shrink, grow, revoke.
#include <gtest/gtest.h>

#include <numeric>

#include "cases/simple.h"

#define RIPIENO_NEWER_API
#include "ripieno/nccl_newer.h"

namespace ripieno::test {
namespace {

std::vector<Placement> placements(int ranks) {
  return {in_threads(ranks), in_processes(ranks), mixed(ranks)};
}

int rank_of(ncclComm_t comm) {
  int rank = -1;
  check(ncclCommUserRank(comm, &rank));
  return rank;
}

int size_of(ncclComm_t comm) {
  int size = -1;
  check(ncclCommCount(comm, &size));
  return size;
}

/// What an all-gather of each rank's number in the parent brings: who is where in `comm`.
std::vector<std::int32_t> order_of(Rank& rank, ncclComm_t comm) {
  const Buffer send = buffer_of(std::vector<std::int32_t>{rank.number}, rank.stream);
  const Buffer all(MemoryKind::kDevice, 4 * static_cast<std::size_t>(size_of(comm)), rank.stream);
  check(ncclAllGather(send.data(), all.data(), 1, ncclInt32, comm, rank.stream));
  check(cudaStreamSynchronize(rank.stream));
  return all.download_as<std::int32_t>();
}

using Numbers = std::vector<std::int32_t>;

TEST(CaseDerived, Case025_SplitOrdersByKeyThenByRank) {
  for (const Placement& placement : {in_threads(5), in_processes(5)}) {
    run_ranks(placement, [](Party& party) {
      party.init();
      Rank& rank = party.rank();
      const int number = rank.number;
      ncclComm_t child = nullptr;
      // Negative keys turn the order round.
      check(ncclCommSplit(rank.comm, 7, -number, &child, nullptr));
      EXPECT_EQ(order_of(rank, child), (Numbers{4, 3, 2, 1, 0}));
      EXPECT_EQ(rank_of(child), 4 - number);
      // A split of a split.
      ncclComm_t grandchild = nullptr;
      check(ncclCommSplit(child, number % 2, 0, &grandchild, nullptr));
      EXPECT_EQ(order_of(rank, grandchild), number % 2 == 0 ? (Numbers{4, 2, 0}) : (Numbers{3, 1}));
      // It outlives both.
      check(ncclCommDestroy(child));
      party.destroy();
      check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
      EXPECT_EQ(order_of(rank, grandchild), number % 2 == 0 ? (Numbers{4, 2, 0}) : (Numbers{3, 1}));
      check(ncclCommDestroy(grandchild));
    });
  }
}

TEST(CaseDerived, Case025_NoColorGivesNoCommunicator) {
  for (const Placement& placement : {in_threads(4), in_processes(4)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      auto child = reinterpret_cast<ncclComm_t>(&party);
      const bool in = rank.number != 2;
      check(ncclCommSplit(rank.comm, in ? 0 : NCCL_SPLIT_NOCOLOR, 0, &child, nullptr));
      EXPECT_EQ(child != nullptr, in);
      if (in) {
        EXPECT_EQ(order_of(rank, child), (Numbers{0, 1, 3}));
        check(ncclCommDestroy(child));
      }
      expect_working(party);
      expect_refused(ncclCommSplit(rank.comm, -2, 0, &child, nullptr), ncclInvalidArgument,
                     {"color", "-2"});
      party.barrier();  // The last error is the process's: no other thread may cause the next yet.
      expect_refused(ncclCommSplit(rank.comm, 0, 0, nullptr, nullptr), ncclInvalidArgument,
                     {"newcomm"});
    });
  }
}

TEST(CaseDerived, SplitInGroupsOfOneThread) {
  run_with_communicators(in_one_thread(4), [](Party& party) {
    std::vector<ncclComm_t> children(4);
    check(ncclGroupStart());
    party.each([&](Rank& rank) {
      check(ncclCommSplit(rank.comm, rank.number / 2, 0, &children[rank.number], nullptr));
    });
    check(ncclGroupEnd());
    std::vector<Buffer> buffers;
    party.each(
        [&](Rank& rank) { buffers.push_back(buffer_of(Numbers{rank.number}, rank.stream)); });
    party.launch([&](Rank& rank) {
      std::byte* const data = buffers[rank.number].data();
      check(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, children[rank.number], rank.stream));
    });
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(buffers[rank].download_as<std::int32_t>(), Numbers{rank < 2 ? 1 : 5});
      check(ncclCommDestroy(children[rank]));
    }
    expect_working(party);
  });
}

TEST(CaseDerived, ManySplitsLeaveNothingBehind) {
  for (const Placement& placement : {in_threads(3), in_processes(3)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      for (int round = 0; round < 40; ++round) {
        ncclComm_t child = nullptr;
        const int color = (rank.number + round) % 3 == 0 ? 1 : 0;
        check(ncclCommSplit(rank.comm, color, 0, &child, nullptr));
        EXPECT_EQ(size_of(child), color == 1 ? 1 : 2);
        if (round % 3 == 0) {
          check(ncclCommAbort(child));
        } else {
          check(ncclCommDestroy(child));
        }
      }
      expect_working(party);
    });
  }
}

TEST(CaseDerived, Case026_NonBlockingSplitIsPolledOnEitherSide) {
  for (const bool poll_child : {false, true}) {
    for (const Placement& placement : {in_threads(3), in_processes(3)}) {
      run_ranks(placement, [poll_child](Party& party) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        Rank& rank = party.rank();
        check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
        const ncclUniqueId id = party.id(0);
        EXPECT_EQ(ncclCommInitRankConfig(&rank.comm, 3, id, rank.number, &config), ncclInProgress);
        EXPECT_EQ(outcome(rank.comm), ncclSuccess);
        for (int round = 0; round < 10; ++round) {
          ncclComm_t child = nullptr;
          const int color = rank.number == round % 4 ? NCCL_SPLIT_NOCOLOR : 3;
          EXPECT_EQ(ncclCommSplit(rank.comm, color, 0, &child, nullptr), ncclInProgress);
          if (color == NCCL_SPLIT_NOCOLOR) {
            EXPECT_EQ(child, nullptr);
            EXPECT_EQ(outcome(rank.comm), ncclSuccess);
            continue;
          }
          EXPECT_NE(child, nullptr);
          EXPECT_EQ(outcome(poll_child ? child : rank.comm), ncclSuccess);
          EXPECT_EQ(order_of(rank, child).size(), round % 4 == 3 ? 3U : 2U);
          check(ncclCommDestroy(child));
        }
        check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
      });
    }
  }
}

TEST(CaseDerived, ConfigIsInheritedOrGiven) {
  run_ranks(in_threads(2), [](Party& party) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    Rank& rank = party.rank();
    check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
    const ncclUniqueId id = party.id(0);
    EXPECT_EQ(ncclCommInitRankConfig(&rank.comm, 2, id, rank.number, &config), ncclInProgress);
    EXPECT_EQ(outcome(rank.comm), ncclSuccess);
    ncclConfig_t blocking = NCCL_CONFIG_INITIALIZER;
    blocking.blocking = 1;
    blocking.splitShare = 1;
    ncclComm_t child = nullptr;
    check(ncclCommSplit(rank.comm, 0, 0, &child, &blocking));
    EXPECT_EQ(order_of(rank, child), (Numbers{0, 1}));
    ncclConfig_t silent = NCCL_CONFIG_INITIALIZER;
    ncclComm_t other = nullptr;
    EXPECT_EQ(ncclCommSplit(rank.comm, 0, 0, &other, &silent), ncclInProgress);
    EXPECT_EQ(outcome(other), ncclSuccess);
    silent.splitShare = 2;
    ncclComm_t none = nullptr;
    expect_refused(ncclCommSplit(rank.comm, 0, 0, &none, &silent), ncclInvalidArgument,
                   {"splitShare"});
    check(ncclCommDestroy(child));
    check(ncclCommDestroy(other));
    check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
  });
}

TEST(CaseDerived, Case028_SharingChildWithSmallerLimitsWorksBesideItsParent) {
  run_with_communicators(in_processes(3), [](Party& party) {
    Rank& rank = party.rank();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.splitShare = 1;
    config.minCTAs = 1;
    config.maxCTAs = 1;
    ncclComm_t child = nullptr;
    check(ncclCommSplit(rank.comm, 0, 0, &child, &config));
    EXPECT_EQ(order_of(rank, child), (Numbers{0, 1, 2}));
    expect_working(party);
    // The end of one is not the end of the other.
    check(ncclCommAbort(child));
    expect_working(party);
  });
}

TEST(CaseDerived, DisagreementIsToldInsteadOfHanging) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      ncclComm_t child = nullptr;
      ncclUniqueId id{};
      const ncclResult_t result = rank.number == 0
                                      ? ncclCommSplit(rank.comm, 0, 0, &child, nullptr)
                                      : ncclCommGrow(rank.comm, 3, &id, -1, &child, nullptr);
      expect_refused(result, ncclInvalidUsage, {"rank"});
      EXPECT_EQ(child, nullptr);
      party.barrier();
    });
  }
}

// ---- Shrink ----

TEST(CaseDerived, Case040_ShrinkToOneRank) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      if (rank.number == 0) {
        int other = 1;
        ncclComm_t child = nullptr;
        check(ncclCommShrink(rank.comm, &other, 1, &child, nullptr, NCCL_SHRINK_DEFAULT));
        EXPECT_EQ(size_of(child), 1);
        EXPECT_EQ(order_of(rank, child), Numbers{0});
        check(ncclCommDestroy(child));
      }
      party.barrier();
      expect_working(party);
    });
  }
}

TEST(CaseDerived, Case041_ShrinkWithAbortWaitsForNoneThatIsOut) {
  for (const Placement& placement : placements(4)) {
    run_ranks(placement, [](Party& party) {
      party.init();
      party.each([](Rank& rank) {
        if (rank.number == 1) {
          check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
        }
      });
      party.barrier();
      std::vector<ncclComm_t> children(party.mine().size());
      std::size_t next = 0;
      check(ncclGroupStart());
      party.each([&](Rank& rank) {
        int out = 1;
        ncclComm_t& child = children[next++];
        if (rank.number != 1) {
          check(ncclCommShrink(rank.comm, &out, 1, &child, nullptr, NCCL_SHRINK_ABORT));
        }
      });
      check(ncclGroupEnd());
      // Survivors give up the old one at once.
      party.each([](Rank& rank) {
        if (rank.comm != nullptr) {
          check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
        }
      });
      if (party.mine().size() == 1 && children.front() != nullptr) {
        EXPECT_EQ(order_of(party.rank(), children.front()), (Numbers{0, 2, 3}));
      }
      for (ncclComm_t child : children) {
        if (child != nullptr) {
          check(ncclCommDestroy(child));
        }
      }
    });
  }
}

TEST(CaseDerived, Case043_ExcludedRanksMayBeGoneBeforeTheShrink) {
  for (const Placement& placement : {in_threads(4), in_processes(4)}) {
    run_ranks(placement, [](Party& party) {
      party.init();
      Rank& rank = party.rank();
      if (rank.number % 2 == 1) {
        party.destroy();
        party.barrier();
        return;
      }
      party.barrier();
      std::array<int, 3> out{3, 1, 3};
      ncclComm_t child = nullptr;
      check(ncclCommShrink(rank.comm, out.data(), 3, &child, nullptr, NCCL_SHRINK_ABORT));
      EXPECT_EQ(out, (std::array<int, 3>{3, 1, 3}));
      const Buffer buffer(MemoryKind::kDevice, 4000, rank.stream);
      for (int round = 0; round < 100; ++round) {
        Buffer values = buffer_of(Numbers(1000, rank.number + 1), rank.stream);
        check(ncclAllReduce(values.data(), buffer.data(), 1000, ncclInt32, ncclSum, child,
                            rank.stream));
        check(cudaStreamSynchronize(rank.stream));
        EXPECT_EQ(buffer.download_as<std::int32_t>(), Numbers(1000, 4));
      }
      check(ncclCommDestroy(child));
      check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
    });
  }
}

TEST(CaseDerived, Case044_ListsOfExcludedRanksThatMakeNoSense) {
  run_with_communicators(in_processes(3), [](Party& party) {
    Rank& rank = party.rank();
    ncclComm_t child = nullptr;
    int list[] = {0, 1, 2, 3, -1};
    const auto shrink = [&](int* ranks, int count, int flags = 0) {
      return ncclCommShrink(rank.comm, ranks, count, &child, nullptr, flags);
    };
    expect_refused(shrink(list, 0), ncclInvalidArgument, {"excludeRanksCount", "0"});
    expect_refused(shrink(list, -3), ncclInvalidArgument, {"excludeRanksCount"});
    expect_refused(shrink(nullptr, 1), ncclInvalidArgument, {"excludeRanksList"});
    expect_refused(shrink(list, 3), ncclInvalidArgument, {"calling rank"});
    expect_refused(shrink(list + 3, 1), ncclInvalidArgument, {"rank 3", "0 to 2"});
    expect_refused(shrink(list + 4, 1), ncclInvalidArgument, {"rank -1"});
    expect_refused(shrink(list + rank.number, 1), ncclInvalidArgument, {"calling rank"});
    int other = (rank.number + 1) % 3;
    expect_refused(shrink(&other, 1, 2), ncclInvalidArgument, {"shrinkFlags", "2"});
    expect_refused(ncclCommShrink(rank.comm, &other, 1, nullptr, nullptr, 0), ncclInvalidArgument,
                   {"newcomm"});
    EXPECT_EQ(child, nullptr);
    party.barrier();
    expect_working(party);
  });
}

TEST(CaseDerived, ShrinksByDifferentListsAreTold) {
  run_with_communicators(in_processes(4), [](Party& party) {
    Rank& rank = party.rank();
    if (rank.number < 2) {
      int out[] = {3, 2};
      ncclComm_t child = nullptr;
      expect_refused(ncclCommShrink(rank.comm, out, rank.number + 1, &child, nullptr, 0),
                     ncclInvalidUsage, {"rank"});
      EXPECT_EQ(child, nullptr);
    }
    party.barrier();
    expect_working(party);
  });
}

// ---- Revoke ----

TEST(CaseDerived, RevokeEndsWhatRunsAndKeepsTheRanksTogether) {
  for (const Placement& placement : {in_threads(3), in_processes(3)}) {
    run_ranks(placement, [](Party& party) {
      party.init();
      Rank& rank = party.rank();
      expect_working(party);
      party.barrier();
      const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
      if (rank.number != 2) {
        // Waits for rank 2, which never comes.
        ncclAllReduce(buffer.data(), buffer.data(), 1 << 20, ncclInt8, ncclSum, rank.comm,
                      rank.stream);
      }
      if (rank.number != 1) {
        check(ncclCommRevoke(rank.comm, NCCL_REVOKE_DEFAULT));
      }
      // Rank 1 is told by the others.
      check(cudaStreamSynchronize(rank.stream));
      if (rank.number == 1) {
        EXPECT_EQ(async_error(rank.comm), ncclRemoteError);
        check(ncclCommRevoke(rank.comm, NCCL_REVOKE_DEFAULT));
      }
      expect_refused(ncclCommRevoke(rank.comm, 0), ncclInvalidArgument, {"revoked"});
      expect_refused(ncclCommFinalize(rank.comm), ncclInvalidArgument, {"revoked"});
      expect_refused(
          ncclAllReduce(buffer.data(), buffer.data(), 8, ncclInt8, ncclSum, rank.comm, rank.stream),
          ncclInvalidUsage, {"revoked"});
      EXPECT_EQ(size_of(rank.comm), 3);
      std::array<int, 1> out{2};
      ncclComm_t child = nullptr;
      if (rank.number != 2) {
        check(ncclCommShrink(rank.comm, out.data(), 1, &child, nullptr, NCCL_SHRINK_DEFAULT));
        EXPECT_EQ(order_of(rank, child), (Numbers{0, 1}));
        check(ncclCommDestroy(child));
      }
      party.destroy();
    });
  }
}

TEST(CaseDerived, SplitOfARevokedCommunicator) {
  run_ranks(in_processes(3), [](Party& party) {
    party.init();
    Rank& rank = party.rank();
    expect_working(party);
    party.barrier();
    ncclComm_t child = nullptr;
    if (rank.number == 0) {
      // One split more than the others: the revocation brings them in step.
      std::thread revoker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        check(ncclCommRevoke(rank.comm, 0));
      });
      expect_refused(ncclCommSplit(rank.comm, 0, 0, &child, nullptr), ncclInvalidUsage,
                     {"revoked"});
      revoker.join();
    } else {
      check(ncclCommRevoke(rank.comm, 0));
    }
    check(ncclCommSplit(rank.comm, rank.number % 2, 0, &child, nullptr));
    EXPECT_EQ(order_of(rank, child), rank.number == 1 ? Numbers{1} : (Numbers{0, 2}));
    check(ncclCommDestroy(child));
    party.destroy();
  });
}

TEST(CaseDerived, RevokeChecksItsArguments) {
  run_ranks(in_threads(1), [](Party& party) {
    party.init();
    Rank& rank = party.rank();
    expect_refused(ncclCommRevoke(nullptr, 0), ncclInvalidArgument, {"comm is NULL"});
    expect_refused(ncclCommRevoke(rank.comm, 1), ncclInvalidArgument, {"revokeFlags", "1"});
    check(ncclCommFinalize(rank.comm));
    expect_refused(ncclCommRevoke(rank.comm, 0), ncclInvalidArgument, {"finalized"});
    party.destroy();
  });
}

// ---- Grow ----

TEST(CaseDerived, Case046_GrowKeepsTheOldRanksAndAddsNewOnes) {
  for (const Placement& placement : {in_threads(6), in_processes(6)}) {
    run_ranks(placement, [](Party& party) {
      constexpr int kOld = 4;
      Rank& rank = party.rank();
      check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
      const ncclUniqueId first = party.id(0);
      ncclComm_t grown = nullptr;
      ncclUniqueId& grow_id = board().ids[1];
      if (rank.number < kOld) {
        check(ncclCommInitRank(&rank.comm, kOld, first, rank.number));
        if (rank.number == 2) {
          check(ncclCommGetUniqueId(rank.comm, &grow_id));
        }
        party.barrier();
        check(
            ncclCommGrow(rank.comm, 6, rank.number == 2 ? &grow_id : nullptr, -1, &grown, nullptr));
        EXPECT_EQ(order_of(rank, rank.comm).size(), 4U);
        check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
      } else {
        party.barrier();
        check(ncclCommGrow(nullptr, 6, &grow_id, rank.number, &grown, nullptr));
        // It was for one use.
        ncclComm_t again = nullptr;
        const ncclResult_t result =
            ncclCommGrow(nullptr, 6, &grow_id, rank.number, &again, nullptr);
        expect_refused(result, ncclInvalidUsage, {"already used"});
      }
      EXPECT_EQ(rank_of(grown), rank.number);
      EXPECT_EQ(order_of(rank, grown), (Numbers{0, 1, 2, 3, 4, 5}));
      party.barrier();
      check(ncclCommDestroy(grown));
    });
  }
}

TEST(CaseDerived, GrowChecksItsArguments) {
  run_with_communicators(in_processes(2), [](Party& party) {
    Rank& rank = party.rank();
    ncclComm_t grown = nullptr;
    ncclUniqueId id{};
    expect_refused(ncclCommGetUniqueId(nullptr, &id), ncclInvalidArgument, {"comm is NULL"});
    expect_refused(ncclCommGetUniqueId(rank.comm, nullptr), ncclInvalidArgument, {"uniqueId"});
    expect_refused(ncclCommGrow(rank.comm, 4, &id, rank.number, &grown, nullptr),
                   ncclInvalidArgument, {"pass -1"});
    expect_refused(ncclCommGrow(rank.comm, 2, &id, -1, &grown, nullptr), ncclInvalidArgument,
                   {"nRanks is 2"});
    expect_refused(ncclCommGrow(nullptr, 4, nullptr, 3, &grown, nullptr), ncclInvalidArgument,
                   {"uniqueId"});
    expect_refused(ncclCommGrow(nullptr, 4, &id, 4, &grown, nullptr), ncclInvalidArgument,
                   {"rank is 4"});
    party.barrier();
    // Nobody brought an id.
    expect_refused(ncclCommGrow(rank.comm, 3, nullptr, -1, &grown, nullptr), ncclInvalidArgument,
                   {"unique id"});
    EXPECT_EQ(grown, nullptr);
    party.barrier();
    expect_working(party);
  });
}

}  // namespace
}  // namespace ripieno::test

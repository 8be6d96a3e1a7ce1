// What every call is answered in every state of a communicator: the table of docs/communicators.md.
#include <gtest/gtest.h>

#include <thread>

#include "cases/simple.h"

#define RIPIENO_NEWER_API
#include "ripieno/nccl_newer.h"

namespace ripieno::test {
namespace {

using namespace std::chrono_literals;

ncclConfig_t non_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

/// Answers of all calls that a state refuses, and of questions.
struct Answers {
  ncclResult_t question;
  ncclResult_t operation;
  ncclResult_t derive;
  ncclResult_t shrink;
  ncclResult_t revoke;
  ncclResult_t finalize;
  ncclResult_t async;
};

/// Marks calls that would be taken, and change the state: not made.
constexpr ncclResult_t kTaken = ncclNumResults;

void expect_answers(const Rank& rank, const Answers& wanted, const char* state) {
  SCOPED_TRACE(state);
  int number = 0;
  EXPECT_EQ(ncclCommCount(rank.comm, &number), wanted.question);
  EXPECT_EQ(ncclCommUserRank(rank.comm, &number), wanted.question);
  EXPECT_EQ(ncclCommCuDevice(rank.comm, &number), wanted.question);
  ncclResult_t async = ncclInternalError;
  check(ncclCommGetAsyncError(rank.comm, &async));
  EXPECT_EQ(async, wanted.async);
  std::int32_t value = 0;
  ncclComm_t other = nullptr;
  ncclUniqueId id;
  ncclWindow_t window = nullptr;
  int excluded = 1 - rank.number;
  if (wanted.operation != kTaken) {
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, rank.comm, rank.stream),
              wanted.operation);
    EXPECT_EQ(ncclSend(&value, 1, ncclInt32, 0, rank.comm, rank.stream), wanted.operation);
  }
  if (wanted.derive != kTaken) {
    EXPECT_EQ(ncclCommSplit(rank.comm, 0, 0, &other, nullptr), wanted.derive);
    EXPECT_EQ(ncclCommGrow(rank.comm, 5, nullptr, -1, &other, nullptr), wanted.derive);
    EXPECT_EQ(ncclCommGetUniqueId(rank.comm, &id), wanted.derive);
    EXPECT_EQ(ncclCommWindowRegister(rank.comm, &value, 4, &window, 0), wanted.derive);
  }
  if (wanted.shrink != kTaken) {
    EXPECT_EQ(ncclCommShrink(rank.comm, &excluded, 1, &other, nullptr, 0), wanted.shrink);
  }
  if (wanted.revoke != kTaken) {
    EXPECT_EQ(ncclCommRevoke(rank.comm, 0), wanted.revoke);
  }
  if (wanted.finalize != kTaken) {
    EXPECT_EQ(ncclCommFinalize(rank.comm), wanted.finalize);
  }
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(window, nullptr);
}

constexpr Answers kBeingMade{.question = ncclInvalidArgument,
                             .operation = ncclInvalidArgument,
                             .derive = ncclInvalidArgument,
                             .shrink = ncclInvalidArgument,
                             .revoke = ncclInvalidArgument,
                             .finalize = ncclInvalidArgument,
                             .async = ncclInProgress};
constexpr Answers kReady{.question = ncclSuccess,
                         .operation = kTaken,
                         .derive = kTaken,
                         .shrink = kTaken,
                         .revoke = kTaken,
                         .finalize = kTaken,
                         .async = ncclSuccess};
constexpr Answers kBusy{.question = ncclSuccess,
                        .operation = ncclInvalidArgument,
                        .derive = ncclInvalidArgument,
                        .shrink = ncclInvalidArgument,
                        .revoke = kTaken,
                        .finalize = ncclInvalidArgument,
                        .async = ncclInProgress};
constexpr Answers kFinalizing{.question = ncclInvalidArgument,
                              .operation = ncclInvalidArgument,
                              .derive = ncclInvalidArgument,
                              .shrink = ncclInvalidArgument,
                              .revoke = ncclInvalidArgument,
                              .finalize = ncclInvalidArgument,
                              .async = ncclInProgress};
constexpr Answers kFinalized{.question = ncclSuccess,
                             .operation = ncclInvalidUsage,
                             .derive = ncclInvalidUsage,
                             .shrink = ncclInvalidUsage,
                             .revoke = ncclInvalidArgument,
                             .finalize = ncclInvalidArgument,
                             .async = ncclSuccess};
constexpr Answers kRevoked{.question = ncclSuccess,
                           .operation = ncclInvalidUsage,
                           .derive = kTaken,
                           .shrink = kTaken,
                           .revoke = ncclInvalidArgument,
                           .finalize = ncclInvalidArgument,
                           .async = ncclSuccess};
constexpr Answers kFailed{.question = ncclRemoteError,
                          .operation = ncclRemoteError,
                          .derive = ncclRemoteError,
                          .shrink = kTaken,
                          .revoke = kTaken,
                          .finalize = ncclRemoteError,
                          .async = ncclRemoteError};

TEST(States, EveryCallInEveryState) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_ranks(placement, [](Party& party) {
      ncclConfig_t config = non_blocking();
      Rank& rank = party.rank();
      check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
      const ncclUniqueId id = party.id(0);
      const bool first = rank.number == 0;
      const auto init = [&] {
        EXPECT_EQ(ncclCommInitRankConfig(&rank.comm, 2, id, rank.number, &config), ncclInProgress);
      };
      if (first) {
        init();
        expect_answers(rank, kBeingMade, "being made");
      }
      party.barrier();
      if (!first) {
        init();
      }
      EXPECT_EQ(outcome(rank.comm), ncclSuccess);
      expect_answers(rank, kReady, "ready");
      // Rank 1 takes its time to split.
      ncclComm_t child = nullptr;
      if (first) {
        EXPECT_EQ(ncclCommSplit(rank.comm, 0, 0, &child, nullptr), ncclInProgress);
        expect_answers(rank, kBusy, "busy");
        Rank child_rank = rank;
        child_rank.comm = child;
        expect_answers(child_rank, kBeingMade, "being split off");
      }
      party.barrier();
      if (!first) {
        EXPECT_EQ(ncclCommSplit(rank.comm, 0, 0, &child, nullptr), ncclInProgress);
      }
      EXPECT_EQ(outcome(child), ncclSuccess);
      expect_working(party);
      // The child's finalize waits for an operation that rank 1 is late for.
      const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
      const auto reduce = [&] {
        check(ncclAllReduce(buffer.data(), buffer.data(), 1 << 20, ncclInt8, ncclSum, child,
                            rank.stream));
      };
      Rank child_rank = rank;
      child_rank.comm = child;
      if (first) {
        reduce();
        EXPECT_EQ(ncclCommFinalize(child), ncclInProgress);
        expect_answers(child_rank, kFinalizing, "finalizing");
      }
      party.barrier();
      if (!first) {
        reduce();
        EXPECT_EQ(ncclCommFinalize(child), ncclInProgress);
      }
      EXPECT_EQ(outcome(child), ncclSuccess);
      expect_answers(child_rank, kFinalized, "finalized");
      check(ncclCommDestroy(child));
      party.barrier();
      // Rank 0 revokes, rank 1 learns of it in an operation.
      if (first) {
        check(ncclCommRevoke(rank.comm, 0));
        expect_answers(rank, kRevoked, "revoked");
      } else {
        check(ncclAllReduce(buffer.data(), buffer.data(), 1 << 20, ncclInt8, ncclSum, rank.comm,
                            rank.stream));
        check(cudaStreamSynchronize(rank.stream));
        EXPECT_EQ(wait_for_failure(rank.comm), ncclRemoteError);
        expect_answers(rank, kFailed, "failed");
      }
      party.barrier();
      check(ncclCommDestroy(rank.comm));
      expect_refused(ncclCommDestroy(rank.comm), ncclInvalidArgument, {"not a live communicator"});
      expect_refused(ncclCommAbort(std::exchange(rank.comm, nullptr)), ncclInvalidArgument,
                     {"not a live communicator"});
    });
  }
}

TEST(States, DestroyWhileBeingMadeEndsIt) {
  run_ranks(in_threads(1), [](Party& party) {
    ncclConfig_t config = non_blocking();
    ncclComm_t comm = nullptr;
    const ncclUniqueId id = party.id(0);
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
    check(ncclCommDestroy(comm));
  });
}

TEST(States, AbortEndsASplitThatWaits) {
  for (const bool of_parent : {true, false}) {
    run_with_communicators(in_processes(2), [of_parent](Party& party) {
      Rank& rank = party.rank();
      if (rank.number == 0) {
        ncclConfig_t config = non_blocking();
        ncclComm_t child = nullptr;
        EXPECT_EQ(ncclCommSplit(rank.comm, 0, 0, &child, &config), ncclInProgress);
        std::this_thread::sleep_for(20ms);
        if (of_parent) {
          check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
          EXPECT_EQ(outcome(child), ncclInvalidUsage);
          check(ncclCommAbort(child));
        } else {
          check(ncclCommAbort(child));
          EXPECT_EQ(outcome(rank.comm), ncclSuccess);
          check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
        }
      }
      party.barrier();
      if (rank.number == 1) {
        check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
      }
    });
  }
}

TEST(States, Case034_TwoStuckCommunicatorsOnOneDeviceAreAbortedInTurn) {
  run_ranks(on_one_device(in_processes(2)), [](Party& party) {
    party.init();
    Rank& rank = party.rank();
    ncclComm_t second = nullptr;
    check(ncclCommSplit(rank.comm, 0, 0, &second, nullptr));
    if (rank.number == 0) {
      cudaStream_t other = nullptr;
      check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
      const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
      for (const auto& [comm, stream] :
           {std::pair(rank.comm, rank.stream), std::pair(second, other)}) {
        check(
            ncclAllReduce(buffer.data(), buffer.data(), 1 << 20, ncclInt8, ncclSum, comm, stream));
      }
      check(ncclCommAbort(second));
      check(cudaStreamSynchronize(other));
      check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
      check(cudaStreamSynchronize(rank.stream));
      check(cudaStreamDestroy(other));
    }
    party.barrier();
    if (rank.number == 1) {
      check(ncclCommAbort(second));
      check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
    }
  });
}

}  // namespace
}  // namespace ripieno::test

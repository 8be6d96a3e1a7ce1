// Reported cases of the end of communicators. Split, shrink, grow, revoke (25 to 28, 32, 40 to 50)
// wait for those functions.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "cases/simple.h"

namespace ripieno::test {
namespace {

using namespace std::chrono_literals;

TEST(CaseEnd, Case029_SecondDestroyIsRefused) {
  run_ranks(in_threads(2), [](Party& party) {
    party.init();
    ncclComm_t const comm = party.rank().comm;
    party.destroy();
    expect_refused(ncclCommDestroy(comm), ncclInvalidArgument, {"already destroyed"});
    expect_refused(ncclCommAbort(comm), ncclInvalidArgument, {"already destroyed"});
    expect_refused(ncclCommFinalize(comm), ncclInvalidArgument, {"already destroyed"});
    party.barrier();
  });
}

/// All-reduces without end, until a call says that the communicator is no more.
void run_until_ended(Party& party) {
  std::vector<Buffer> buffers;
  party.each([&](Rank& rank) { buffers.emplace_back(MemoryKind::kDevice, 600'000, rank.stream); });
  bool ended = false;
  for (int step = 0; !ended; ++step) {
    const std::size_t count = step % 3 == 0 ? 100'000 : 10;
    std::size_t next = 0;
    ncclGroupStart();
    for (const Rank& rank : party.mine()) {
      std::byte* const data = buffers[next++].data();
      const ncclResult_t result =
          ncclAllReduce(data, data, count, ncclFloat32, ncclSum, rank.comm, rank.stream);
      ended = ended || result != ncclSuccess;
    }
    ended = ncclGroupEnd() != ncclSuccess || ended;
    party.synchronize();
  }
}

TEST(CaseEnd, Case031_AbortAtAnyTimeNeverHangs) {
  for (const Placement& placement : {in_threads(3), in_processes(3), mixed(4)}) {
    run_ranks(placement, [](Party& party) {
      const int rounds = kSanitized ? 6 : 25;
      std::mt19937 random(static_cast<unsigned>(party.rank().number));
      for (int round = 0; round < rounds; ++round) {
        std::vector<ncclComm_t> comms = party.make_communicators(round);
        for (std::size_t index = 0; index < comms.size(); ++index) {
          party.mine()[index].comm = comms[index];
        }
        party.each([](Rank& rank) {
          check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
        });
        std::jthread aborter([&comms, delay = std::chrono::microseconds{random() % 3000}] {
          std::this_thread::sleep_for(delay);
          for (ncclComm_t comm : comms) {
            ncclCommAbort(comm);
          }
        });
        run_until_ended(party);
        aborter.join();
        party.each([](Rank& rank) {
          rank.comm = nullptr;
          check(cudaStreamDestroy(std::exchange(rank.stream, nullptr)));
        });
        party.barrier();
      }
    });
  }
}

TEST(CaseEnd, Case037_DestroyAfterThePeerHasGone) {
  const LogFiles logs("case037");
  run_ranks(in_processes(2),
            [](Party& party) {
              party.init();
              expect_working(party);
              party.barrier();
              if (party.rank().number == 1) {
                _exit(0);
              }
              EXPECT_EQ(wait_for_failure(party.rank().comm), ncclRemoteError);
              party.destroy();
              EXPECT_TRUE(LogFiles::has_line({"WARN", "rank 1 died"})) << LogFiles::own_text();
              LogFiles::remove_own();
            },
            {.environment = logs.environment()});
}

/// Captures one all-reduce of `count` elements of `buffer`, in place.
cudaGraphExec_t capture_all_reduce(const Rank& rank, const Buffer& buffer, std::size_t count) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal));
  check(ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt32, ncclSum, rank.comm,
                      rank.stream));
  check(cudaStreamEndCapture(rank.stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphDestroy(graph));
  return executable;
}

TEST(CaseEnd, Case038_GraphMayOutliveItsCommunicator) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    for (const bool abort : {false, true}) {
      run_ranks(placement, [abort](Party& party) {
        party.init();
        Rank& rank = party.rank();
        const std::vector<std::int32_t> values(70'000, rank.number + 1);
        Buffer buffer = buffer_of(values, rank.stream);
        cudaGraphExec_t const graph = capture_all_reduce(rank, buffer, values.size());
        check(cudaGraphLaunch(graph, rank.stream));
        party.synchronize();
        EXPECT_EQ(buffer.download_as<std::int32_t>().back(), 3);
        party.barrier();
        check((abort ? ncclCommAbort : ncclCommDestroy)(std::exchange(rank.comm, nullptr)));
        buffer.upload(values);
        EXPECT_EQ(cudaGraphLaunch(graph, rank.stream), cudaErrorInvalidResourceHandle);
        EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
        check(cudaStreamSynchronize(rank.stream));
        EXPECT_EQ(buffer.download_as<std::int32_t>(), values);
        check(cudaGraphExecDestroy(graph));
        party.barrier();
      });
    }
  }
}

TEST(CaseEnd, Case047_StreamAndCommunicatorEndInEitherOrder) {
  for (const bool stream_first : {false, true}) {
    run_ranks(in_threads(2), [stream_first](Party& party) {
      for (int round = 0; round < 10; ++round) {
        const std::vector<ncclComm_t> comms = party.make_communicators(round);
        Rank& rank = party.rank();
        rank.comm = comms.front();
        check(cudaStreamCreate(&rank.stream));
        expect_working(party);
        if (stream_first) {
          check(cudaStreamDestroy(std::exchange(rank.stream, nullptr)));
        }
        check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
        if (!stream_first) {
          check(cudaStreamDestroy(std::exchange(rank.stream, nullptr)));
        }
      }
    });
  }
}

TEST(CaseEnd, FinalizeThenDestroyInBothModes) {
  for (const int blocking : {1, 0}) {
    run_ranks(in_threads(2), [blocking](Party& party) {
      Rank& rank = party.rank();
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = blocking;
      const ncclUniqueId id = party.id(0);
      check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
      EXPECT_EQ(ncclCommInitRankConfig(&rank.comm, 2, id, rank.number, &config),
                blocking != 0 ? ncclSuccess : ncclInProgress);
      EXPECT_EQ(outcome(rank.comm), ncclSuccess);
      expect_working(party);
      EXPECT_EQ(ncclCommFinalize(rank.comm), blocking != 0 ? ncclSuccess : ncclInProgress);
      EXPECT_EQ(outcome(rank.comm), ncclSuccess);
      int byte = 0;
      expect_refused(ncclAllReduce(&byte, &byte, 1, ncclInt8, ncclSum, rank.comm, rank.stream),
                     ncclInvalidUsage, {"finalized"});
      expect_refused(ncclCommFinalize(rank.comm), ncclInvalidArgument, {"finalized"});
      check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
    });
  }
}

}  // namespace
}  // namespace ripieno::test

// Groups, several communicators at once, and operations captured into graphs.
#include <gtest/gtest.h>

#include <thread>

#include "cases/simple.h"

namespace ripieno::test {
namespace {

constexpr std::size_t kCount = 20'000;

TEST(Groups, NestedGroupsStartWithTheOutermostEnd) {
  run_with_communicators(in_one_thread(3), [](Party& party) {
    std::vector<Buffer> buffers;
    party.each([&](Rank& rank) {
      buffers.push_back(buffer_of(std::vector<std::int32_t>(kCount, 1), rank.stream));
    });
    check(ncclGroupStart());
    std::size_t next = 0;
    party.each([&](Rank& rank) {
      check(ncclGroupStart());
      std::byte* const data = buffers[next++].data();
      check(ncclAllReduce(data, data, kCount, ncclInt32, ncclSum, rank.comm, rank.stream));
      check(ncclGroupStart());
      check(ncclAllReduce(data, data, kCount, ncclInt32, ncclSum, rank.comm, rank.stream));
      check(ncclGroupEnd());
      check(ncclGroupEnd());
    });
    check(ncclGroupEnd());
    party.synchronize();
    for (const Buffer& buffer : buffers) {
      EXPECT_EQ(buffer.download_as<std::int32_t>(), std::vector<std::int32_t>(kCount, 9));
    }
  });
}

TEST(Groups, OneGroupOfSeveralCommunicatorsCollectivesAndMessages) {
  for (const Placement& placement : {in_one_thread(2), in_threads(2), in_processes(2), mixed(4)}) {
    run_with_communicators(placement, [](Party& party) {
      const std::vector<ncclComm_t> seconds = party.make_communicators(1);
      for (int round = 0; round < 10; ++round) {
        std::vector<Buffer> sums;
        std::vector<Buffer> products;
        std::vector<Buffer> received;
        party.each([&](Rank& rank) {
          sums.push_back(
              buffer_of(std::vector<std::int32_t>(kCount, rank.number + 1), rank.stream));
          products.push_back(
              buffer_of(std::vector<std::int32_t>(10, rank.number + 2), rank.stream));
          received.emplace_back(MemoryKind::kDevice, kCount * sizeof(std::int32_t), rank.stream);
        });
        check(ncclGroupStart());
        std::size_t next = 0;
        party.each([&](Rank& rank) {
          const int ranks = party.ranks();
          check(ncclAllReduce(sums[next].data(), sums[next].data(), kCount, ncclInt32, ncclMax,
                              rank.comm, rank.stream));
          check(ncclAllReduce(products[next].data(), products[next].data(), 10, ncclInt32, ncclProd,
                              seconds[next], rank.stream));
          check(ncclRecv(received[next].data(), kCount, ncclInt32, (rank.number + 1) % ranks,
                         seconds[next], rank.stream));
          check(ncclSend(sums[next].data(), kCount, ncclInt32, (rank.number + ranks - 1) % ranks,
                         seconds[next], rank.stream));
          ++next;
        });
        check(ncclGroupEnd());
        party.synchronize();
        std::int32_t product = 1;
        for (int rank = 0; rank < party.ranks(); ++rank) product *= rank + 2;
        for (std::size_t index = 0; index < sums.size(); ++index) {
          EXPECT_EQ(sums[index].download_as<std::int32_t>().back(), party.ranks());
          EXPECT_EQ(products[index].download_as<std::int32_t>(),
                    std::vector<std::int32_t>(10, product));
          EXPECT_EQ(received[index].download_as<std::int32_t>().size(), kCount);
        }
      }
      for (ncclComm_t second : seconds) {
        check(ncclCommDestroy(second));
      }
    });
  }
}

TEST(Groups, OneGroupOverSeveralStreams) {
  run_with_communicators(in_threads(2), [](Party& party) {
    Rank& rank = party.rank();
    cudaStream_t other = nullptr;
    check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const Buffer first = buffer_of(std::vector<std::int32_t>(kCount, 1), rank.stream);
    const Buffer second = buffer_of(std::vector<std::int32_t>(kCount, 5), rank.stream);
    const Buffer copy(MemoryKind::kDevice, first.size(), rank.stream);
    for (int round = 0; round < 10; ++round) {
      check(ncclGroupStart());
      check(ncclAllReduce(first.data(), first.data(), kCount, ncclInt32, ncclSum, rank.comm,
                          rank.stream));
      check(ncclAllReduce(second.data(), second.data(), kCount, ncclInt32, ncclMax, rank.comm,
                          other));
      check(ncclGroupEnd());
      // Behind the group in the second stream, although that took part with another operation.
      check(cudaMemcpyAsync(copy.data(), first.data(), first.size(), cudaMemcpyDefault, other));
      check(cudaStreamSynchronize(other));
      EXPECT_EQ(copy.download_as<std::int32_t>(), std::vector<std::int32_t>(kCount, 2 << round));
    }
    check(cudaStreamDestroy(other));
  });
}

TEST(Groups, EmptyGroupsAndInitsInGroups) {
  run_ranks(in_one_thread(4), [](Party& party) {
    check(ncclGroupStart());
    check(ncclGroupEnd());
    party.init();
    expect_working(party);
    party.destroy();
    std::array<ncclComm_t, 3> comms{};
    check(ncclCommInitAll(comms.data(), 3, nullptr));
    for (int rank = 0; rank < 3; ++rank) {
      int answer = -1;
      ncclComm_t const comm = comms[static_cast<std::size_t>(rank)];
      check(ncclCommUserRank(comm, &answer));
      EXPECT_EQ(answer, rank);
      check(ncclCommCuDevice(comm, &answer));
      EXPECT_EQ(answer, rank);
      check(ncclCommCount(comm, &answer));
      EXPECT_EQ(answer, 3);
    }
    for (ncclComm_t comm : comms) {
      check(ncclCommDestroy(comm));
    }
  });
}

TEST(Groups, CommunicatorsOfManyThreadsAtOnce) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_ranks(placement, [](Party& party) {
      constexpr int kThreads = 4;
      std::vector<ncclComm_t> comms;
      for (int slot = 0; slot < kThreads; ++slot) {
        comms.push_back(party.make_communicators(slot).front());
      }
      std::vector<std::jthread> threads;
      for (ncclComm_t comm : comms) {
        threads.emplace_back([comm, &party] {
          const int device = party.rank().device;
          check(cudaSetDevice(device));
          cudaStream_t stream = nullptr;
          check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
          {
            const Buffer buffer = buffer_of(std::vector<std::int64_t>(kCount, 1), stream);
            for (int step = 0; step < 30; ++step) {
              const std::size_t count = step % 2 == 0 ? kCount : kCount / 100;
              check(ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt64, ncclSum, comm,
                                  stream));
            }
            check(cudaStreamSynchronize(stream));
            const auto result = buffer.download_as<std::int64_t>();
            EXPECT_EQ(result.front(), 1LL << 30);
            EXPECT_EQ(result.back(), 1LL << 15);
          }
          check(cudaStreamDestroy(stream));
        });
      }
      threads.clear();
      for (ncclComm_t comm : comms) {
        check(ncclCommDestroy(comm));
      }
    });
  }
}

// ---- Graphs ----

/// Captures what `work(rank)` enqueues for all my ranks; each gets a graph of its own.
template <typename Work>
std::vector<cudaGraphExec_t> capture(Party& party, Work work) {
  for (Rank& rank : party.mine()) {
    check(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal));
  }
  check(ncclGroupStart());
  party.each(work);
  check(ncclGroupEnd());
  std::vector<cudaGraphExec_t> graphs;
  for (Rank& rank : party.mine()) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(rank.stream, &graph));
    check(cudaGraphInstantiate(&graphs.emplace_back(), graph, 0));
    check(cudaGraphDestroy(graph));
  }
  return graphs;
}

void replay(Party& party, const std::vector<cudaGraphExec_t>& graphs) {
  std::size_t next = 0;
  for (Rank& rank : party.mine()) {
    check(cudaGraphLaunch(graphs[next++], rank.stream));
  }
}

void destroy(const std::vector<cudaGraphExec_t>& graphs) {
  for (cudaGraphExec_t graph : graphs) {
    check(cudaGraphExecDestroy(graph));
  }
}

TEST(Graphs, Case125_FirstOperationOfACommunicatorMayBeCaptured) {
  for (const Placement& placement :
       {in_threads(1), in_one_thread(2), in_threads(2), in_processes(2)}) {
    for (const std::size_t count : {3UL, 200'000UL}) {
      run_with_communicators(placement, [count](Party& party) {
        std::vector<Buffer> buffers;
        party.each(
            [&](Rank& rank) { buffers.emplace_back(MemoryKind::kDevice, count * 4, rank.stream); });
        std::size_t next = 0;
        const auto graphs = capture(party, [&](Rank& rank) {
          std::byte* const data = buffers[next++].data();
          check(ncclAllReduce(data, data, count, ncclInt32, ncclSum, rank.comm, rank.stream));
        });
        for (int round = 1; round <= 3; ++round) {
          next = 0;
          party.each([&](Rank& rank) {
            buffers[next++].upload(std::vector<std::int32_t>(count, round * (rank.number + 1)));
          });
          replay(party, graphs);
          party.synchronize();
          const int sum = round * party.ranks() * (party.ranks() + 1) / 2;
          for (const Buffer& buffer : buffers) {
            EXPECT_EQ(buffer.download_as<std::int32_t>(), std::vector<std::int32_t>(count, sum));
          }
        }
        expect_working(party);
        destroy(graphs);
      });
    }
  }
}

TEST(Graphs, MessagesAndSeveralOperationsInOneGraph) {
  for (const Placement& placement : {in_one_thread(2), in_threads(2), in_processes(2)}) {
    run_with_communicators(placement, [](Party& party) {
      std::vector<Buffer> values;
      // Operations of one group are not ordered among each other: messages have their own buffers.
      std::vector<Buffer> sent;
      std::vector<Buffer> received;
      party.each([&](Rank& rank) {
        values.emplace_back(MemoryKind::kDevice, kCount * 4, rank.stream);
        sent.push_back(buffer_of(std::vector<std::int32_t>(kCount, rank.number), rank.stream));
        received.emplace_back(MemoryKind::kDevice, kCount * 4, rank.stream);
      });
      std::size_t next = 0;
      const auto graphs = capture(party, [&](Rank& rank) {
        std::byte* const data = values[next].data();
        check(ncclAllReduce(data, data, kCount, ncclInt32, ncclSum, rank.comm, rank.stream));
        check(ncclAllReduce(data, data, 2, ncclInt32, ncclSum, rank.comm, rank.stream));
        check(ncclSend(sent[next].data(), kCount, ncclInt32, 1 - rank.number, rank.comm,
                       rank.stream));
        check(ncclRecv(received[next].data(), kCount, ncclInt32, 1 - rank.number, rank.comm,
                       rank.stream));
        ++next;
      });
      for (int round = 0; round < 5; ++round) {
        next = 0;
        party.each([&](Rank& rank) {
          values[next++].upload(std::vector<std::int32_t>(kCount, rank.number + 1));
        });
        replay(party, graphs);
        party.synchronize();
        for (const Buffer& buffer : values) {
          const auto result = buffer.download_as<std::int32_t>();
          EXPECT_EQ(result.front(), 6);
          EXPECT_EQ(result.back(), 3);
        }
      }
      destroy(graphs);
    });
  }
}

TEST(Graphs, Case127_TwoGraphsOfOneCommunicatorOnTwoStreams) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      cudaStream_t other = nullptr;
      check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
      const Buffer first = buffer_of(std::vector<std::int64_t>(kCount, 1), rank.stream);
      const Buffer second = buffer_of(std::vector<std::int64_t>(100, 1), rank.stream);
      const auto a = capture(party, [&](Rank& mine) {
        check(ncclAllReduce(first.data(), first.data(), kCount, ncclInt64, ncclSum, mine.comm,
                            mine.stream));
      });
      const auto b = capture(party, [&](Rank& mine) {
        check(ncclAllReduce(second.data(), second.data(), 100, ncclInt64, ncclSum, mine.comm,
                            mine.stream));
      });
      for (int round = 0; round < 20; ++round) {
        check(cudaGraphLaunch(a.front(), rank.stream));
        check(cudaGraphLaunch(b.front(), other));
      }
      party.synchronize();
      check(cudaStreamSynchronize(other));
      EXPECT_EQ(first.download_as<std::int64_t>(), std::vector<std::int64_t>(kCount, 1LL << 20));
      EXPECT_EQ(second.download_as<std::int64_t>(), std::vector<std::int64_t>(100, 1LL << 20));
      destroy(a);
      destroy(b);
      check(cudaStreamDestroy(other));
    });
  }
}

}  // namespace
}  // namespace ripieno::test

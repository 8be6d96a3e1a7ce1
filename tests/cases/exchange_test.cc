// Reported cases of groups, messages and uneven exchange.
#include <gtest/gtest.h>

#include <array>

#include "cases/simple.h"

namespace ripieno::test {
namespace {

using namespace std::chrono_literals;

TEST(CaseExchange, Case052_BothSendThenReceive) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHeap}) {
      run_with_communicators(placement, [kind](Party& party) {
        Rank& rank = party.rank();
        const std::vector<std::int32_t> values(1 << 20, rank.number);
        const Buffer out = buffer_of(values, rank.stream, kind);
        const Buffer in(kind, out.size(), rank.stream);
        check(ncclGroupStart());
        check(ncclSend(out.data(), values.size(), ncclInt32, 1 - rank.number, rank.comm,
                       rank.stream));
        check(
            ncclRecv(in.data(), values.size(), ncclInt32, 1 - rank.number, rank.comm, rank.stream));
        check(ncclGroupEnd());
        party.synchronize();
        EXPECT_EQ(in.download_as<std::int32_t>(),
                  std::vector<std::int32_t>(1 << 20, 1 - rank.number));
      });
    }
  }
}

TEST(CaseExchange, Case052_UngroupedItIsReportedAsAStall) {
  const LogFiles logs("case052");
  std::vector<std::string> environment = logs.environment();
  environment.emplace_back("RIPIENO_STALL_SECONDS=1");
  run_ranks(in_processes(2),
            [](Party& party) {
              party.init();
              Rank& rank = party.rank();
              const Buffer out(MemoryKind::kDevice, 1 << 20, rank.stream);
              const Buffer in(MemoryKind::kDevice, 1 << 20, rank.stream);
              const int peer = 1 - rank.number;
              check(ncclSend(out.data(), out.size(), ncclInt8, peer, rank.comm, rank.stream));
              check(ncclRecv(in.data(), in.size(), ncclInt8, peer, rank.comm, rank.stream));
              const std::string message = "peer " + std::to_string(peer);
              wait_until(
                  [&] {
                    return LogFiles::has_line({"WARN", "Send", "1048576", message, "has waited"});
                  },
                  "the report of a stalled send");
              party.barrier();
              check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
              check(cudaStreamSynchronize(rank.stream));
              LogFiles::remove_own();
            },
            {.environment = environment});
}

TEST(CaseExchange, Case053_OneRankGroupsTheOtherDoesNot) {
  run_with_communicators(in_threads(2), [](Party& party) {
    Rank& rank = party.rank();
    for (const std::size_t count : {4UL, 300'000UL}) {
      const Buffer out = buffer_of(std::vector<std::int32_t>(count, rank.number + 7), rank.stream);
      const Buffer in(MemoryKind::kDevice, out.size(), rank.stream);
      if (rank.number == 0) {
        check(ncclGroupStart());
        check(ncclSend(out.data(), count, ncclInt32, 1, rank.comm, rank.stream));
        check(ncclRecv(in.data(), count, ncclInt32, 1, rank.comm, rank.stream));
        check(ncclGroupEnd());
      } else {
        check(ncclRecv(in.data(), count, ncclInt32, 0, rank.comm, rank.stream));
        check(ncclSend(out.data(), count, ncclInt32, 0, rank.comm, rank.stream));
      }
      party.synchronize();
      EXPECT_EQ(in.download_as<std::int32_t>(), std::vector<std::int32_t>(count, 8 - rank.number));
    }
  });
}

TEST(CaseExchange, Case055_Case095_NothingNeedsNoPointers) {
  for (const Placement& placement : {in_threads(1), in_processes(4), in_one_thread(4)}) {
    run_with_communicators(placement, [](Party& party) {
      party.launch([&](Rank& rank) {
        const auto [number, device, comm, stream] = rank;
        check(ncclAllReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, stream));
        check(ncclReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, 0, comm, stream));
        check(ncclBroadcast(nullptr, nullptr, 0, ncclFloat32, 0, comm, stream));
        check(ncclBcast(nullptr, 0, ncclFloat32, 0, comm, stream));
        check(ncclAllGather(nullptr, nullptr, 0, ncclFloat32, comm, stream));
        check(ncclReduceScatter(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, stream));
        check(ncclAlltoAll(nullptr, nullptr, 0, ncclFloat32, comm, stream));
        check(ncclGather(nullptr, nullptr, 0, ncclFloat32, 0, comm, stream));
        check(ncclScatter(nullptr, nullptr, 0, ncclFloat32, 0, comm, stream));
      });
      check(ncclGroupStart());
      party.each([&](Rank& rank) {
        for (int peer = 0; peer < party.ranks(); ++peer) {
          check(ncclSend(nullptr, 0, ncclFloat32, peer, rank.comm, rank.stream));
          check(ncclRecv(nullptr, 0, ncclFloat32, peer, rank.comm, rank.stream));
        }
      });
      check(ncclGroupEnd());
      party.synchronize();
      expect_working(party);
    });
  }
}

/// An all-to-all of uneven parts: counts[from][to] int32 elements of value 100 * from + to.
template <std::size_t kRanks>
void exchange_unevenly(Party& party,
                       const std::array<std::array<std::size_t, kRanks>, kRanks>& counts) {
  Rank& rank = party.rank();
  const auto me = static_cast<std::size_t>(rank.number);
  std::vector<Buffer> outs;
  std::vector<Buffer> ins;
  check(ncclGroupStart());
  for (std::size_t peer = 0; peer < kRanks; ++peer) {
    const int other = static_cast<int>(peer);
    outs.push_back(buffer_of(std::vector<std::int32_t>(counts[me][peer], rank.number * 100 + other),
                             rank.stream));
    ins.emplace_back(MemoryKind::kDevice, counts[peer][me] * sizeof(std::int32_t), rank.stream);
    check(ncclSend(outs.back().data(), counts[me][peer], ncclInt32, other, rank.comm, rank.stream));
    check(ncclRecv(ins.back().data(), counts[peer][me], ncclInt32, other, rank.comm, rank.stream));
  }
  check(ncclGroupEnd());
  party.synchronize();
  for (std::size_t peer = 0; peer < kRanks; ++peer) {
    EXPECT_EQ(ins[peer].download_as<std::int32_t>(),
              std::vector<std::int32_t>(counts[peer][me],
                                        static_cast<std::int32_t>(peer) * 100 + rank.number));
    ins[peer].expect_guards_intact("a received part");
  }
}

TEST(CaseExchange, Case056_ARankThatExchangesOnlyNothingKeepsTheOrder) {
  for (const Placement& placement : {in_threads(3), in_processes(3)}) {
    run_with_communicators(placement, [](Party& party) {
      for (int round = 0; round < 5; ++round) {
        exchange_unevenly<3>(party, {{{{5, 0, 9}}, {{0, 0, 0}}, {{1, 0, 30'000}}}});
        exchange_unevenly<3>(party, {{{{1, 2, 3}}, {{4, 5, 6}}, {{7, 8, 9}}}});
        expect_working(party);
      }
    });
  }
}

TEST(CaseExchange, Case058_SplitsOfDifferentRanks) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_with_communicators(placement, [](Party& party) {
      exchange_unevenly<2>(party, {{{{1, 1}}, {{0, 0}}}});
    });
  }
}

TEST(CaseExchange, Case059_SizesThatDisagreeAreToldOnBothSides) {
  struct Sizes {
    std::size_t sent;
    std::size_t received;
  };
  for (const Sizes sizes :
       {Sizes{8, 4}, Sizes{4, 8}, Sizes{500'000, 4}, Sizes{4, 500'000}, Sizes{0, 1}}) {
    for (const Placement& placement : {in_threads(2), in_processes(2)}) {
      run_ranks(placement, [sizes](Party& party) {
        party.init();
        Rank& rank = party.rank();
        const Buffer buffer(MemoryKind::kDevice, 500'000, rank.stream);
        if (rank.number == 0) {
          ncclSend(buffer.data(), sizes.sent, ncclInt8, 1, rank.comm, rank.stream);
        } else {
          ncclRecv(buffer.data(), sizes.received, ncclInt8, 0, rank.comm, rank.stream);
        }
        // A small message has left its sender before anyone can tell; the next call knows.
        ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt8, ncclSum, rank.comm, rank.stream);
        check(cudaStreamSynchronize(rank.stream));
        EXPECT_EQ(wait_for_failure(rank.comm), ncclInvalidUsage);
        expect_refused(
            ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt8, ncclSum, rank.comm,
                          rank.stream),
            ncclInvalidUsage,
            {"sends " + std::to_string(sizes.sent), "receives " + std::to_string(sizes.received)});
        party.barrier();
        check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
      });
    }
  }
}

TEST(CaseExchange, Case061_InitAndCollectiveInOneGroupIsRefused) {
  run_with_communicators(in_threads(2), [](Party& party) {
    Rank& rank = party.rank();
    const ncclUniqueId id = party.id(1);
    const Buffer buffer(MemoryKind::kDevice, 4, rank.stream);
    ncclComm_t second = nullptr;
    check(ncclGroupStart());
    check(ncclCommInitRank(&second, 2, id, rank.number));
    check(
        ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt32, ncclSum, rank.comm, rank.stream));
    expect_refused(ncclGroupEnd(), ncclInvalidUsage, {"initialis"});
    EXPECT_EQ(second, nullptr);
    party.barrier();
    expect_working(party);
  });
}

TEST(CaseExchange, Case062_RootAndPeerOutOfRange) {
  run_with_communicators(in_one_thread(3), [](Party& party) {
    const auto [number, device, comm, stream] = party.rank();
    int byte = 0;
    for (const int wrong : {3, -1, 1 << 30}) {
      const std::string value = std::to_string(wrong);
      expect_refused(ncclBroadcast(&byte, &byte, 1, ncclInt8, wrong, comm, stream),
                     ncclInvalidArgument, {"ncclBroadcast", "root", value, "0 to 2"});
      expect_refused(ncclReduce(&byte, &byte, 1, ncclInt8, ncclSum, wrong, comm, stream),
                     ncclInvalidArgument, {"ncclReduce", "root", value, "0 to 2"});
      expect_refused(ncclBcast(&byte, 1, ncclInt8, wrong, comm, stream), ncclInvalidArgument,
                     {"ncclBcast", "root", value, "0 to 2"});
      expect_refused(ncclGather(&byte, &byte, 1, ncclInt8, wrong, comm, stream),
                     ncclInvalidArgument, {"ncclGather", "root", value, "0 to 2"});
      expect_refused(ncclScatter(&byte, &byte, 1, ncclInt8, wrong, comm, stream),
                     ncclInvalidArgument, {"ncclScatter", "root", value, "0 to 2"});
      expect_refused(ncclSend(&byte, 1, ncclInt8, wrong, comm, stream), ncclInvalidArgument,
                     {"ncclSend", "peer", value, "0 to 2"});
      expect_refused(ncclRecv(&byte, 1, ncclInt8, wrong, comm, stream), ncclInvalidArgument,
                     {"ncclRecv", "peer", value, "0 to 2"});
    }
    expect_working(party);
  });
}

TEST(CaseExchange, Case065_TwoCommunicatorsOnOneStream) {
  run_with_communicators(in_threads(2), [](Party& party) {
    Rank& rank = party.rank();
    ncclComm_t const second = party.make_communicators(1).front();
    const Buffer buffer = buffer_of(std::vector<std::int64_t>(5000, 1), rank.stream);
    for (int step = 0; step < 20; ++step) {
      for (ncclComm_t comm : {rank.comm, second}) {
        check(ncclAllReduce(buffer.data(), buffer.data(), 5000, ncclInt64, ncclSum, comm,
                            rank.stream));
      }
    }
    party.synchronize();
    EXPECT_EQ(buffer.download_as<std::int64_t>(), std::vector<std::int64_t>(5000, 1LL << 40));
    check(ncclCommDestroy(second));
  });
}

TEST(CaseExchange, Case065_OneCommunicatorOnTwoStreams) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      cudaStream_t other = nullptr;
      check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
      constexpr std::size_t kCount = 30'000;
      const Buffer first = buffer_of(std::vector<std::int64_t>(kCount, 1), rank.stream);
      const Buffer second = buffer_of(std::vector<std::int64_t>(kCount, 3), rank.stream);
      for (int step = 0; step < 20; ++step) {
        check(ncclAllReduce(first.data(), first.data(), kCount, ncclInt64, ncclSum, rank.comm,
                            rank.stream));
        check(ncclAllReduce(second.data(), second.data(), kCount, ncclInt64, ncclSum, rank.comm,
                            other));
      }
      party.synchronize();
      check(cudaStreamSynchronize(other));
      EXPECT_EQ(first.download_as<std::int64_t>(), std::vector<std::int64_t>(kCount, 1LL << 20));
      EXPECT_EQ(second.download_as<std::int64_t>(), std::vector<std::int64_t>(kCount, 3LL << 20));
      check(cudaStreamDestroy(other));
    });
  }
}

TEST(CaseExchange, Case065_CommunicatorsOnStreamsInOppositeOrder) {
  run_with_communicators(in_threads(2), [](Party& party) {
    Rank& rank = party.rank();
    ncclComm_t const second = party.make_communicators(1).front();
    cudaStream_t other = nullptr;
    check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const Buffer a = buffer_of(std::vector<std::int32_t>(100'000, 1), rank.stream);
    const Buffer b = buffer_of(std::vector<std::int32_t>(100'000, 1), rank.stream);
    const auto run_first = [&] {
      check(ncclAllReduce(a.data(), a.data(), 100'000, ncclInt32, ncclSum, rank.comm, rank.stream));
    };
    const auto run_second = [&] {
      check(ncclAllReduce(b.data(), b.data(), 100'000, ncclInt32, ncclSum, second, other));
    };
    if (rank.number == 0) {
      run_first();
      run_second();
    } else {
      run_second();
      run_first();
    }
    party.synchronize();
    check(cudaStreamSynchronize(other));
    EXPECT_EQ(a.download_as<std::int32_t>().back(), 2);
    EXPECT_EQ(b.download_as<std::int32_t>().front(), 2);
    check(cudaStreamDestroy(other));
    check(ncclCommDestroy(second));
  });
}

/// Every rank makes `call(rank)`, which differs between rank 0 and the others; all must be told,
/// with both sides' values.
template <typename Call>
void expect_disagreement(const Placement& placement, Call call, std::array<const char*, 2> parts) {
  run_ranks(placement, [call, parts](Party& party) {
    party.init();
    Rank& rank = party.rank();
    expect_working(party, 10);
    const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
    call(rank, buffer.data());
    check(cudaStreamSynchronize(rank.stream));
    EXPECT_EQ(wait_for_failure(rank.comm), ncclInvalidUsage);
    expect_refused(
        ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt8, ncclSum, rank.comm, rank.stream),
        ncclInvalidUsage, {"disagree", parts[0], parts[1], "#2"});
    party.barrier();
    check(ncclCommAbort(std::exchange(rank.comm, nullptr)));
  });
}

TEST(CaseExchange, Case067_CountsThatDiffer) {
  for (const Placement& placement : {in_threads(3), in_processes(3)}) {
    expect_disagreement(placement,
                        [](Rank& rank, std::byte* data) {
                          ncclAllReduce(data, data, rank.number == 0 ? 1000 : 1024, ncclFloat32,
                                        ncclSum, rank.comm, rank.stream);
                        },
                        {"count 1000", "count 1024"});
  }
}

TEST(CaseExchange, Case068_CountsThatDifferAcrossAlgorithms) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    expect_disagreement(placement,
                        [](Rank& rank, std::byte* data) {
                          ncclAllReduce(data, data, rank.number == 0 ? 16'000 : 8'000, ncclFloat32,
                                        ncclSum, rank.comm, rank.stream);
                        },
                        {"count 16000", "count 8000"});
  }
}

TEST(CaseExchange, Case070_SequencesThatDiffer) {
  expect_disagreement(in_processes(3),
                      [](Rank& rank, std::byte* data) {
                        if (rank.number == 0) {
                          ncclAllGather(data, data, 10, ncclFloat32, rank.comm, rank.stream);
                        } else {
                          ncclAllReduce(data, data, 10, ncclFloat32, ncclSum, rank.comm,
                                        rank.stream);
                        }
                      },
                      {"AllGather", "AllReduce"});
}

TEST(CaseExchange, Case070_EverythingElseThatMayDiffer) {
  expect_disagreement(in_threads(2),
                      [](Rank& rank, std::byte* data) {
                        ncclAllReduce(data, data, 10, rank.number == 0 ? ncclFloat32 : ncclInt32,
                                      ncclSum, rank.comm, rank.stream);
                      },
                      {"float32", "int32"});
  expect_disagreement(in_threads(2),
                      [](Rank& rank, std::byte* data) {
                        ncclAllReduce(data, data, 10, ncclInt32,
                                      rank.number == 0 ? ncclMax : ncclMin, rank.comm, rank.stream);
                      },
                      {"max", "min"});
  expect_disagreement(in_threads(2),
                      [](Rank& rank, std::byte* data) {
                        ncclBroadcast(data, data, 10, ncclInt32, rank.number, rank.comm,
                                      rank.stream);
                      },
                      {"root 0", "root 1"});
}

}  // namespace
}  // namespace ripieno::test

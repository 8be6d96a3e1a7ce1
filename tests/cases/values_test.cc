// Reported cases of types, operators, sizes and pointers.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <array>
#include <cmath>
#include <cstring>

#include "cases/simple.h"
#include "matrix/exercise.h"

namespace ripieno::test {
namespace {

using Bits16 = std::uint16_t;

constexpr Bits16 kBfloat16Largest = 0x7f7f;
constexpr Bits16 kFloat16Largest = 0x7bff;

/// bfloat16 bits of a number that has them exactly.
Bits16 bfloat16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<Bits16>(bits >> 16);
}

std::vector<Placement> small_placements(int ranks) {
  return {in_one_thread(ranks), in_threads(ranks), in_processes(ranks)};
}

TEST(CaseValues, Case071_AverageOfOneRankIsACopy) {
  run_with_communicators(in_threads(1), [](Party& party) {
    Bench bench(party);
    for (int type = 0; type < ncclNumTypes; ++type) {
      for (std::size_t count = 1; count < 64; ++count) {
        for (const std::size_t whole : {0UL, 8UL, 1024UL}) {
          bench.run({.collective = Collective::kAllReduce,
                     .type = static_cast<ncclDataType_t>(type),
                     .operation = ncclAvg,
                     .count = count + whole,
                     .shift = count % 4});
        }
      }
    }
  });
}

TEST(CaseValues, Case072a_AverageOfTheLargestValuesDoesNotOverflow) {
  for (const int ranks : {3, 10}) {
    run_with_communicators(in_threads(ranks), [](Party& party) {
      for (const auto& [type, largest] :
           {std::pair(ncclBfloat16, kBfloat16Largest), std::pair(ncclFloat16, kFloat16Largest)}) {
        const std::vector<Bits16> values(100, largest);
        EXPECT_EQ(all_reduce(party, values, ncclAvg, type), values);
      }
      const std::vector<double> values(100, std::numeric_limits<double>::max() / 2);
      for (const double average : all_reduce(party, values, ncclAvg)) {
        EXPECT_NEAR(average / values[0], 1, 1e-15);
      }
    });
  }
}

/// All-reduces with an operator of factor `bits`, given at once or read from device memory.
std::vector<std::uint8_t> scaled_sum(Party& party, ncclDataType_t type, std::uint8_t bits,
                                     ncclScalarResidence_t residence,
                                     const std::vector<std::uint8_t>& values) {
  Rank& rank = party.rank();
  const Buffer scalar = buffer_of(std::vector<std::uint8_t>{bits}, rank.stream);
  ncclRedOp_t operation{};
  check(ncclRedOpCreatePreMulSum(
      &operation, residence == ncclScalarDevice ? static_cast<void*>(scalar.data()) : &bits, type,
      residence, rank.comm));
  const std::vector<std::uint8_t> result = all_reduce(party, values, operation, type);
  check(ncclRedOpDestroy(operation, rank.comm));
  return result;
}

TEST(CaseValues, Case073_ScalarOfTheHostAndOfTheDeviceDoTheSame) {
  for (const int ranks : {1, 2}) {
    run_with_communicators(in_threads(ranks), [](Party& party) {
      for (const ncclDataType_t type : {ncclFloat8e4m3, ncclFloat8e5m2}) {
        std::vector<std::uint8_t> values;
        for (int code = 0; code < 0x70; ++code) {
          values.push_back(static_cast<std::uint8_t>(code));
        }
        // 0.5 in either type.
        const std::uint8_t half = type == ncclFloat8e4m3 ? 0x30 : 0x38;
        const auto at_once = scaled_sum(party, type, half, ncclScalarHostImmediate, values);
        EXPECT_EQ(scaled_sum(party, type, half, ncclScalarDevice, values), at_once);
        const auto average = all_reduce(party, values, ncclAvg, type);
        EXPECT_EQ(average, values);
        if (party.ranks() == 2) {
          EXPECT_EQ(at_once, values);
        }
      }
    });
  }
}

TEST(CaseValues, Case074_ScalarIsReadInItsOwnType) {
  for (const Placement& placement : small_placements(2)) {
    if (placement.parties() != 2) continue;
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      Bits16 half = bfloat16(0.5F);
      ncclRedOp_t operation{};
      check(ncclRedOpCreatePreMulSum(&operation, &half, ncclBfloat16, ncclScalarHostImmediate,
                                     rank.comm));
      const std::vector<Bits16> values(33, bfloat16(rank.number == 0 ? 2 : 4));
      EXPECT_EQ(all_reduce(party, values, operation, ncclBfloat16),
                std::vector<Bits16>(33, bfloat16(3)));
      check(ncclRedOpDestroy(operation, rank.comm));
    });
  }
}

TEST(CaseValues, PreMulSumWithAScalarOfEachRank) {
  for (const Placement& placement : {in_threads(3), in_processes(3)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      for (const std::size_t count : {5UL, 3000UL, 200'000UL}) {
        for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHeap}) {
          float scalar = static_cast<float>(rank.number + 1);
          const Buffer device_scalar = buffer_of(std::vector<float>{scalar}, rank.stream);
          for (const bool on_device : {false, true}) {
            ncclRedOp_t operation{};
            check(ncclRedOpCreatePreMulSum(
                &operation, on_device ? static_cast<void*>(device_scalar.data()) : &scalar,
                ncclFloat32, on_device ? ncclScalarDevice : ncclScalarHostImmediate, rank.comm));
            const std::vector<float> values(count, static_cast<float>(10 * (rank.number + 1)));
            // 1 * 10 + 2 * 20 + 3 * 30
            EXPECT_EQ(all_reduce(party, values, operation, ncclFloat32, kind),
                      std::vector<float>(count, 140));
            check(ncclRedOpDestroy(operation, rank.comm));
          }
        }
      }
    });
  }
}

TEST(CaseValues, OperatorMayBeDestroyedWhileItsWorkIsUnderWay) {
  run_with_communicators(in_threads(2), [](Party& party) {
    Rank& rank = party.rank();
    std::int32_t factor = 3;
    ncclRedOp_t operation{};
    check(ncclRedOpCreatePreMulSum(&operation, &factor, ncclInt32, ncclScalarHostImmediate,
                                   rank.comm));
    const Buffer buffer = buffer_of(std::vector<std::int32_t>(100'000, 1), rank.stream);
    check(ncclAllReduce(buffer.data(), buffer.data(), 100'000, ncclInt32, operation, rank.comm,
                        rank.stream));
    check(ncclRedOpDestroy(operation, rank.comm));
    factor = 1000;
    party.synchronize();
    EXPECT_EQ(buffer.download_as<std::int32_t>(), std::vector<std::int32_t>(100'000, 6));
  });
}

TEST(CaseValues, Case076_Case077_EightBitFloats) {
  for (const Placement& placement : small_placements(4)) {
    run_with_communicators(placement, [](Party& party) {
      Bench bench(party);
      for (const ncclDataType_t type : {ncclFloat8e4m3, ncclFloat8e5m2}) {
        bench.run({.collective = Collective::kAllGather, .type = type, .count = 64});
        for (const ncclRedOp_t operation : {ncclSum, ncclMax, ncclAvg}) {
          for (const std::size_t count : {15UL, 16UL, 17UL, 64UL, 100'000UL}) {
            bench.run({.collective = Collective::kAllReduce,
                       .type = type,
                       .operation = operation,
                       .count = count});
          }
        }
      }
    });
  }
}

TEST(CaseValues, Case079_SixteenBitSumsAccumulateInSingle) {
  run_with_communicators(in_threads(9), [](Party& party) {
    for (const std::size_t count : {1UL, 100UL, 50'000UL}) {
      const std::vector<Bits16> values(count, bfloat16(party.rank().number == 0 ? 256 : 1));
      EXPECT_EQ(all_reduce(party, values, ncclSum, ncclBfloat16),
                std::vector<Bits16>(count, bfloat16(264)));
    }
  });
}

TEST(CaseValues, Case080_SumsRunInRankOrderEverywhere) {
  for (const Placement& placement : {in_threads(4), in_processes(4)}) {
    run_with_communicators(placement, [](Party& party) {
      constexpr std::array kInputs = {1e8F, 1.0F, -1e8F, 1.0F};
      const float mine = kInputs[static_cast<std::size_t>(party.rank().number)];
      // (1e8 + 1) is 1e8 in single precision, so the order gives 1, whatever the size and the
      // memory.
      for (const std::size_t count : {1UL, 3UL, 1000UL, 8192UL, 100'001UL}) {
        for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHeap}) {
          EXPECT_EQ(all_reduce(party, std::vector<float>(count, mine), ncclSum, ncclFloat32, kind),
                    std::vector<float>(count, 1.0F));
        }
      }
    });
  }
}

TEST(CaseValues, Case082_SeparateAndJoinedBuffersGiveEqualBits) {
  for (const Placement& placement : {in_threads(3), in_processes(3)}) {
    run_with_communicators(placement, [](Party& party) {
      const auto noise = [&](std::size_t count, float phase) {
        std::vector<float> values(count);
        for (std::size_t index = 0; index < count; ++index) {
          values[index] =
              std::sin(static_cast<float>(index) + phase + static_cast<float>(party.rank().number));
        }
        return values;
      };
      const std::vector<float> first = noise(1003, 0.25F);
      const std::vector<float> second = noise(77'777, 0.5F);
      std::vector<float> joined = first;
      joined.insert(joined.end(), second.begin(), second.end());
      std::vector<float> wanted = all_reduce(party, first, ncclSum);
      const std::vector<float> rest =
          all_reduce(party, second, ncclSum, ncclFloat32, MemoryKind::kHeap);
      wanted.insert(wanted.end(), rest.begin(), rest.end());
      EXPECT_EQ(all_reduce(party, joined, ncclSum), wanted);
    });
  }
}

TEST(CaseValues, Case085_InPlaceAllGatherAndReduceScatter) {
  for (const Placement& placement : small_placements(3)) {
    run_with_communicators(placement, [](Party& party) {
      Bench bench(party);
      for (const std::size_t count : {1UL, 9UL, 1000UL, 100'000UL}) {
        bench.run({.collective = Collective::kAllGather, .count = count, .in_place = true});
        bench.run({.collective = Collective::kReduceScatter, .count = count, .in_place = true});
      }
    });
  }
}

TEST(CaseValues, Case085_WrongPlaceIsRefusedInCheckMode) {
  run_with_communicators(
      in_processes(3),
      [](Party& party) {
        Rank& rank = party.rank();
        constexpr std::size_t kCount = 100;
        const Buffer buffer(MemoryKind::kDevice, 3 * kCount, rank.stream);
        auto* const all = static_cast<std::byte*>(buffer.data());
        std::byte* const mine = all + static_cast<std::size_t>(rank.number) * kCount;
        const auto gather = [&](std::byte* send) {
          return ncclAllGather(send, all, kCount, ncclInt8, rank.comm, rank.stream);
        };
        const auto scatter = [&](std::byte* receive) {
          return ncclReduceScatter(all, receive, kCount, ncclInt8, ncclSum, rank.comm, rank.stream);
        };
        for (const std::ptrdiff_t off : {-1, 1}) {
          expect_refused(gather(mine + off), ncclInvalidUsage, {"ncclAllGather", "in place"});
          expect_refused(scatter(mine + off), ncclInvalidUsage, {"ncclReduceScatter", "in place"});
        }
        check(gather(mine));
        check(scatter(mine));
        party.synchronize();
      },
      {.environment = {"NCCL_CHECK_MODE=DEBUG_LOCAL"}});
}

TEST(CaseValues, Case086_OutputsOfRanksThatReceiveNothingStayUntouched) {
  for (const Placement& placement : {in_threads(3), in_processes(3)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      for (const std::size_t count : {7UL, 60'000UL}) {
        const Buffer send(MemoryKind::kDevice, 3 * count, rank.stream);
        const Buffer receive(MemoryKind::kDevice, 3 * count, rank.stream);
        const std::vector<std::byte> poison = receive.download();
        check(ncclReduce(send.data(), receive.data(), count, ncclInt8, ncclMax, 1, rank.comm,
                         rank.stream));
        check(ncclGather(send.data(), receive.data(), count, ncclInt8, 1, rank.comm, rank.stream));
        party.synchronize();
        if (rank.number != 1) {
          EXPECT_EQ(receive.download(), poison);
        }
        receive.expect_guards_intact("an output that is not this rank's to fill");
      }
    });
  }
}

TEST(CaseValues, Case088_Case089_NullBuffersThatNobodyReadsAreFine) {
  run_with_communicators(in_threads(2), [](Party& party) {
    const auto [number, device, comm, stream] = party.rank();
    const bool is_root = number == 0;
    for (const std::size_t count : {4UL, 100'000UL}) {
      const Buffer buffer(MemoryKind::kDevice, 2 * count, stream);
      const Buffer other(MemoryKind::kDevice, 2 * count, stream);
      void* const mine = other.data();
      check(
          ncclBroadcast(is_root ? buffer.data() : nullptr, mine, count, ncclInt8, 0, comm, stream));
      check(ncclReduce(buffer.data(), is_root ? mine : nullptr, count, ncclInt8, ncclSum, 0, comm,
                       stream));
      check(ncclGather(buffer.data(), is_root ? mine : nullptr, count, ncclInt8, 0, comm, stream));
      check(ncclScatter(is_root ? buffer.data() : nullptr, mine, count, ncclInt8, 0, comm, stream));
      party.synchronize();
    }
  });
}

TEST(CaseValues, Case088_Case089_NullBuffersThatAreNeededAreRefused) {
  run_with_communicators(in_threads(1), [](Party& party) {
    const auto [number, device, comm, stream] = party.rank();
    std::int8_t byte = 0;
    void* const some = &byte;
    constexpr ncclDataType_t kType = ncclInt8;
    const auto refused = [](ncclResult_t result, const char* function, const char* buffer) {
      expect_refused(result, ncclInvalidArgument, {function, buffer, "NULL"});
    };
    refused(ncclBroadcast(some, nullptr, 1, kType, 0, comm, stream), "ncclBroadcast", "recvbuff");
    refused(ncclBroadcast(nullptr, some, 1, kType, 0, comm, stream), "ncclBroadcast", "sendbuff");
    refused(ncclBcast(nullptr, 1, kType, 0, comm, stream), "ncclBcast", "buff");
    refused(ncclAllReduce(nullptr, some, 1, kType, ncclSum, comm, stream), "ncclAllReduce",
            "sendbuff");
    refused(ncclAllReduce(some, nullptr, 1, kType, ncclSum, comm, stream), "ncclAllReduce",
            "recvbuff");
    refused(ncclReduce(nullptr, some, 1, kType, ncclSum, 0, comm, stream), "ncclReduce",
            "sendbuff");
    refused(ncclReduce(some, nullptr, 1, kType, ncclSum, 0, comm, stream), "ncclReduce",
            "recvbuff");
    refused(ncclAllGather(nullptr, some, 1, kType, comm, stream), "ncclAllGather", "sendbuff");
    refused(ncclAllGather(some, nullptr, 1, kType, comm, stream), "ncclAllGather", "recvbuff");
    refused(ncclReduceScatter(nullptr, some, 1, kType, ncclSum, comm, stream), "ncclReduceScatter",
            "sendbuff");
    refused(ncclReduceScatter(some, nullptr, 1, kType, ncclSum, comm, stream), "ncclReduceScatter",
            "recvbuff");
    refused(ncclAlltoAll(nullptr, some, 1, kType, comm, stream), "ncclAlltoAll", "sendbuff");
    refused(ncclAlltoAll(some, nullptr, 1, kType, comm, stream), "ncclAlltoAll", "recvbuff");
    refused(ncclGather(nullptr, some, 1, kType, 0, comm, stream), "ncclGather", "sendbuff");
    refused(ncclGather(some, nullptr, 1, kType, 0, comm, stream), "ncclGather", "recvbuff");
    refused(ncclScatter(nullptr, some, 1, kType, 0, comm, stream), "ncclScatter", "sendbuff");
    refused(ncclScatter(some, nullptr, 1, kType, 0, comm, stream), "ncclScatter", "recvbuff");
    refused(ncclSend(nullptr, 1, kType, 0, comm, stream), "ncclSend", "sendbuff");
    refused(ncclRecv(nullptr, 1, kType, 0, comm, stream), "ncclRecv", "recvbuff");
    expect_working(party);
  });
}

TEST(CaseValues, Case091_Case092_TunablesOfOtherPlacesDoNoHarm) {
  run_with_communicators(in_processes(3),
                         [](Party& party) {
                           Bench bench(party);
                           for (const std::size_t count : {1UL, 1000UL, 300'001UL}) {
                             bench.run({.collective = Collective::kAllReduce, .count = count});
                             bench.run({.collective = Collective::kAlltoAll, .count = count / 3});
                           }
                         },
                         {.environment = {"NCCL_NTHREADS=480", "NCCL_BUFFSIZE=1000000",
                                          "NCCL_ALGO=Ring", "NCCL_PROTO=LL"}});
}

TEST(CaseValues, Case094_RegisteredMemoryServesAllTypesAndOperators) {
  run_with_communicators(in_threads(2), [](Party& party) {
    Rank& rank = party.rank();
    const Buffer buffer(MemoryKind::kNccl, 1 << 20, rank.stream);
    void* handle = nullptr;
    ncclWindow_t window = nullptr;
    check(ncclCommRegister(rank.comm, buffer.data(), buffer.size(), &handle));
    check(ncclCommWindowRegister(rank.comm, buffer.data(), buffer.size(), &window,
                                 NCCL_WIN_COLL_SYMMETRIC));
    for (int type = 0; type < ncclNumTypes; ++type) {
      for (const ncclRedOp_t operation : {ncclSum, ncclMax, ncclProd}) {
        check(ncclAllReduce(buffer.data(), buffer.data(), 1000, static_cast<ncclDataType_t>(type),
                            operation, rank.comm, rank.stream));
      }
    }
    party.synchronize();
    check(ncclCommWindowDeregister(rank.comm, window));
    check(ncclCommDeregister(rank.comm, handle));
    expect_working(party);
  });
}

/// Gives the process a /dev/shm of its own, of 1 MiB; false where that is not permitted.
bool take_private_shared_memory() {
  return unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") == 0;
}

TEST(CaseValues, Case106_Case109_TinyAndSeparateSharedMemoryFolders) {
  run_ranks(in_processes(4), [](Party& party) {
    if (!take_private_shared_memory()) {
      board().words[0] = 1;
      return;
    }
    party.init();
    expect_working(party, 1'000'000);
    Bench bench(party);
    bench.run({.collective = Collective::kAllReduce, .count = 300'000, .memory = MemoryMix::kHeap});
    party.destroy();
  });
  if (board().words[0] != 0) {
    GTEST_SKIP() << "this process may not make mount namespaces";
  }
}

}  // namespace
}  // namespace ripieno::test

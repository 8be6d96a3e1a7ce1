// Every collective over placements, sizes, types, operators, roots, memory and in and out of place.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/reduce.h"
#include "matrix/exercise.h"
#include "matrix/sizes.h"

namespace ripieno::test {
namespace {

constexpr std::array kOperators = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};

/// Long enough for a machine that has other work too.
const RunOptions kMatrixRun{.limit = std::chrono::seconds{500}};

std::vector<Placement> placements() {
  std::vector<Placement> all = {in_threads(1),   in_one_thread(2), in_threads(3),
                                in_processes(2), mixed(5),         in_processes(4)};
  if (full_matrix()) {
    all.insert(all.end(),
               {in_one_thread(4), in_threads(2), in_threads(8), in_processes(3), in_processes(8),
                mixed(8), on_one_device(in_threads(4)), on_one_device(mixed(5))});
  }
  return all;
}

class CollectiveMatrix : public testing::TestWithParam<Placement> {};

int some_root(std::size_t salt, int ranks) {
  return static_cast<int>(salt) % ranks;
}

bool has_root(Collective collective) {
  return collective == Collective::kReduce || collective == Collective::kBroadcast ||
         collective == Collective::kBcast || collective == Collective::kGather ||
         collective == Collective::kScatter;
}

std::size_t blocks_of(Collective collective, int ranks) {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kAlltoAll:
    case Collective::kScatter:
      return static_cast<std::size_t>(ranks);
    default:
      return 1;
  }
}

/// Every count, memory and, where it is cheap, both in and out of place.
void sweep_sizes(Party& party, Collective collective, ncclDataType_t type) {
  constexpr std::size_t kCheapBytes = 40 << 10;
  Bench bench(party);
  Exercise exercise{.collective = collective, .type = type};
  const auto ranks = static_cast<std::size_t>(party.ranks());
  const std::size_t blocks = blocks_of(collective, party.ranks());
  for (const std::size_t count : boundary_counts(type_size(type), blocks, ranks)) {
    const bool cheap = count * type_size(type) * blocks <= kCheapBytes;
    exercise.count = count;
    for (const MemoryMix memory : {MemoryMix::kDevice, MemoryMix::kHeap, MemoryMix::kOneRankHeap}) {
      for (int variation = 0; variation < (cheap ? 2 : 1); ++variation) {
        ++exercise.salt;
        exercise.memory = memory;
        exercise.in_place = exercise.salt % 2 == 0;
        exercise.root = some_root(exercise.salt, party.ranks());
        exercise.shift = exercise.salt % 3;
        bench.run(exercise);
      }
    }
  }
}

TEST_P(CollectiveMatrix, EverySize) {
  run_with_communicators(
      GetParam(),
      [](Party& party) {
        for (const Collective collective : kCollectives) {
          sweep_sizes(party, collective, ncclFloat32);
        }
        if (full_matrix()) {
          sweep_sizes(party, Collective::kAllReduce, ncclUint8);
        }
      },
      kMatrixRun);
}

TEST_P(CollectiveMatrix, EveryTypeAndOperator) {
  run_with_communicators(
      GetParam(),
      [](Party& party) {
        Bench bench(party);
        Exercise exercise{.collective = Collective::kAllReduce};
        for (const Collective collective : kCollectives) {
          exercise.collective = collective;
          for (int type = 0; type < ncclNumTypes; ++type) {
            exercise.type = static_cast<ncclDataType_t>(type);
            for (const ncclRedOp_t operation : kOperators) {
              if (!reduces(collective) && operation != ncclSum) {
                continue;
              }
              exercise.operation = operation;
              for (const std::size_t count : {1UL, 5UL, 63UL, 1027UL, 70'001UL}) {
                ++exercise.salt;
                exercise.count = count;
                exercise.in_place = exercise.salt % 2 == 0;
                exercise.memory = static_cast<MemoryMix>(exercise.salt % 4);
                exercise.root = some_root(exercise.salt, party.ranks());
                exercise.shift = exercise.salt % 5;
                bench.run(exercise);
              }
            }
          }
        }
      },
      kMatrixRun);
}

TEST_P(CollectiveMatrix, EveryRoot) {
  run_with_communicators(
      GetParam(),
      [](Party& party) {
        Bench bench(party);
        for (const Collective collective : kCollectives) {
          for (int root = 0; has_root(collective) && root < party.ranks(); ++root) {
            for (const std::size_t count : {3UL, 999UL, 50'000UL}) {
              for (const bool in_place : {false, true}) {
                bench.run({.collective = collective,
                           .type = ncclBfloat16,
                           .count = count,
                           .root = root,
                           .in_place = in_place,
                           .memory = count == 999UL ? MemoryMix::kHeap : MemoryMix::kNccl,
                           .salt = static_cast<std::size_t>(root)});
              }
            }
          }
        }
      },
      kMatrixRun);
}

INSTANTIATE_TEST_SUITE_P(In, CollectiveMatrix, testing::ValuesIn(placements()), name_of_parameter);

}  // namespace
}  // namespace ripieno::test

// Small collectives among kernels that run at the same time: every rank launches one, writes its
// input into its own box, and reads everybody's. One hop, no leader, no waiting stream. Only for
// ranks whose kernels are sure to be resident together.
//
// A box has two halves, used in turn; an operation's number (its epoch) says which. Data travels in
// units of 16 bytes that carry their epoch twice, so that a reader knows a unit is new without any
// fence. Besides, every rank writes one unit that says what it is about to do, and every block
// reads those of all ranks: so ranks notice when they disagree, and none is ever two operations
// ahead, which is why two halves suffice.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "coll/cuda/work.h"
#include "coll/operation.h"

namespace ripieno::coll::gpu {

/// What a rank can put into its box.
inline constexpr std::size_t kOneShotBytes = std::size_t{64} << 10;
inline constexpr int kOneShotThreads = 512;
inline constexpr std::size_t kUnitBytes = 8;  ///< Data in a unit.
inline constexpr std::size_t kOneShotUnits = kOneShotBytes / kUnitBytes;

struct alignas(16) Unit {
  std::uint32_t low;
  std::uint32_t low_epoch;
  std::uint32_t high;
  std::uint32_t high_epoch;
};

/// In device memory; zero at first.
struct Box {
  Unit greeting[2];
  Unit data[2][kOneShotUnits];
  std::uint32_t epoch;     ///< Of the last operation; its own kernels only.
  std::uint32_t finished;  ///< Blocks of the running kernel that are through.
};

struct OneShotWork {
  Function function;
  std::uint8_t type;
  std::uint8_t reduce;
  std::uint8_t element_bytes;
  std::int32_t ranks;
  std::int32_t rank;
  std::int32_t root;
  std::uint64_t count;
  std::uint64_t signature;
  const std::byte* send;
  std::byte* receive;
  Fault* fault;
  const Box* boxes[kMostRanks];
  Box* own;
};

/// Whether the operation is small and simple enough; all ranks find the same.
[[nodiscard]] bool fits_one_shot(const Operation& operation, int ranks) noexcept;

/// Fills in what a OneShotWork says of `operation`; boxes, rank and fault are the caller's.
[[nodiscard]] OneShotWork describe_one_shot(const Operation& operation, int ranks);

/// Launches in `stream` of the current device. Throws Error.
void launch(const OneShotWork& work, cudaStream_t stream);

/// Loads the kernels onto the current device. Throws Error.
void load_one_shot_kernels();

template <ncclDataType_t kType>
[[nodiscard]] const void* one_shot_function();

}  // namespace ripieno::coll::gpu

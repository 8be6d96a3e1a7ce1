// The kernels that only move bytes: collectives without a reduction, and lists of copies.
#include "coll/cuda/launch.h"
#include "coll/cuda/tiles.cuh"

namespace ripieno::coll::gpu {
namespace {

/// Moves element `index` of width `Word`, of every input, to its outputs. Everything is read before
/// anything is written.
template <typename Word>
__device__ __forceinline__ void move_word(const BlockState& state, const RowPlan& plan,
                                          std::size_t offset) {
  const Word word = *reinterpret_cast<const Word*>(state.in[0] + offset);
  if (plan.kind == RowKind::kExchange) {
    const Word other = *reinterpret_cast<const Word*>(state.in[1] + offset);
    *reinterpret_cast<Word*>(state.out[0] + offset) = word;
    *reinterpret_cast<Word*>(state.out[1] + offset) = other;
    return;
  }
  for (int output = 0; output < plan.outputs; ++output) {
    *reinterpret_cast<Word*>(state.out[output] + offset) = word;
  }
}

/// Moves bytes [begin, end) of the row, whose borders need not fit a word.
template <typename Word>
__device__ void move_range(const BlockState& state, const RowPlan& plan, std::uint64_t begin,
                           std::uint64_t end) {
  const auto first = reinterpret_cast<std::uintptr_t>(state.in[0]) + begin;
  const std::uint64_t head =
      min(static_cast<std::uint64_t>(-first & (sizeof(Word) - 1)), end - begin);
  const std::uint64_t words = (end - begin - head) / sizeof(Word);
  for (std::uint64_t word = threadIdx.x; word < words; word += blockDim.x) {
    move_word<Word>(state, plan, begin + head + word * sizeof(Word));
  }
  if constexpr (sizeof(Word) > 1) {
    const std::uint64_t odd = end - begin - words * sizeof(Word);
    for (std::uint64_t edge = threadIdx.x; edge < odd; edge += blockDim.x) {
      const std::uint64_t byte = edge < head ? edge : edge + words * sizeof(Word);
      move_word<std::uint8_t>(state, plan, begin + byte);
    }
  }
}

__device__ void move_tile(const BlockState& state, const RowPlan& plan, std::uint64_t begin,
                          std::uint64_t end) {
  const std::uintptr_t differing = misfit(state.in, plan.inputs, state.out, plan.outputs);
  if (differing == 0) {
    move_range<uint4>(state, plan, begin, end);
  } else if ((differing & 7) == 0) {
    move_range<std::uint64_t>(state, plan, begin, end);
  } else if ((differing & 3) == 0) {
    move_range<std::uint32_t>(state, plan, begin, end);
  } else if ((differing & 1) == 0) {
    move_range<std::uint16_t>(state, plan, begin, end);
  } else {
    move_range<std::uint8_t>(state, plan, begin, end);
  }
}

__global__ void __launch_bounds__(kThreads) move_kernel(const __grid_constant__ Work work) {
  __shared__ BlockState state;
  if (open_work(work, state)) {
    const RowPlan plan = plan_rows(work.function, work.ranks);
    const std::uint64_t bytes = work.count * work.element_bytes;
    const std::uint64_t per_tile = work.vectors_per_tile * kVectorBytes;
    for_tiles(work, plan, state, [&](std::uint32_t tile) {
      const std::uint64_t begin = tile * per_tile;
      if (begin < bytes) move_tile(state, plan, begin, min(begin + per_tile, bytes));
    });
  }
  close_work(work);
}

/// The copies are the rows; each has as many blocks as the longest needs.
__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ CopyList list) {
  __shared__ BlockState state;
  __shared__ std::uint64_t bytes;
  constexpr RowPlan kPlan{RowKind::kCopy, 1, 1, 1};
  const auto index = static_cast<int>(blockIdx.x / list.tiles_per_copy);
  const std::uint64_t part = blockIdx.x % list.tiles_per_copy;
  if (threadIdx.x == 0) {
    state.in[0] = list.copy[index].from;
    state.out[0] = list.copy[index].to;
    bytes = list.copy[index].bytes;
    if (const PostedMessage* posted = list.posted[index]; posted != nullptr) {
      state.in[0] = posted->from;
      bytes = min(bytes, posted->bytes);
    }
  }
  __syncthreads();
  const std::uint64_t share =
      ((bytes + list.tiles_per_copy - 1) / list.tiles_per_copy + 127) / 128 * 128;
  const std::uint64_t begin = part * share;
  if (begin < bytes) move_tile(state, kPlan, begin, min(begin + share, bytes));
}

__global__ void look_kernel(const __grid_constant__ Look look) {
  const auto index = static_cast<int>(threadIdx.x);
  if (index >= look.copies) return;
  const volatile PostedMessage* const posted = look.posted[index];
  PostedMessage message{posted->from, posted->bytes};
  if (*static_cast<const volatile std::uint32_t*>(look.stopped) != 0) message.bytes = 0;
  look.near[index] = message;
}

}  // namespace

const void* move_function() {
  return reinterpret_cast<const void*>(&move_kernel);
}

const void* copy_function() {
  return reinterpret_cast<const void*>(&copy_kernel);
}

const void* look_function() {
  return reinterpret_cast<const void*>(&look_kernel);
}

}  // namespace ripieno::coll::gpu

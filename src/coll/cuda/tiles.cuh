// What all kernels share: where a block of threads finds the buffers of the ranks, and how it walks
// over its tiles. A tile is a stretch of one row; its middle goes in 16-byte accesses where all
// pointers of the row are equally far from a 16-byte border, else in the widest access that fits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/cuda/work.h"
#include "coll/rows.h"

namespace ripieno::coll::gpu {

struct BlockState {
  const std::byte* send[kMostRanks];
  std::byte* receive[kMostRanks];
  std::uint64_t scalar[kMostRanks];
  const std::byte* in[kMostRanks];  ///< Of the current row.
  std::byte* out[kMostRanks];
  int usable;
};

__device__ inline std::uint64_t read_scalar(const Buffers& buffers, int bytes) {
  if (buffers.scalar_at == nullptr) return buffers.scalar;
  std::uint64_t value = 0;
  for (int byte = 0; byte < bytes; ++byte) {
    value |= static_cast<std::uint64_t>(buffers.scalar_at[byte]) << (8 * byte);
  }
  return value;
}

/// A slot that says something else than the executing rank expects. The host reads it and fails.
__device__ inline void raise(Fault* fault, const Work& work, int rank, const Slot& slot) {
  if (blockIdx.x != 0) return;
  fault->rank = static_cast<std::uint32_t>(rank);
  fault->count = slot.count;
  fault->signature = slot.signature;
  fault->expected_count = work.count;
  fault->expected_signature = work.signature;
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(&fault->raised) = 1;
}

/// Collects the buffers of all ranks. False if nothing may be touched.
__device__ inline bool open_work(const Work& work, BlockState& state) {
  if (threadIdx.x == 0) state.usable = 1;
  __syncthreads();
  const auto rank = static_cast<int>(threadIdx.x);
  if (rank < work.ranks) {
    Buffers buffers;
    if (work.slots == nullptr) {
      buffers = work.buffers[rank];
    } else {
      const volatile std::uint64_t* words =
          reinterpret_cast<const volatile std::uint64_t*>(&work.slots[rank]);
      Slot slot;
      auto* const copy = reinterpret_cast<std::uint64_t*>(&slot);
      for (std::size_t word = 0; word < sizeof(Slot) / 8; ++word) copy[word] = words[word];
      if (slot.count != work.count || slot.signature != work.signature) {
        state.usable = 0;
        raise(work.fault, work, rank, slot);
      }
      buffers = slot.buffers;
    }
    state.send[rank] = buffers.send;
    state.receive[rank] = buffers.receive;
    state.scalar[rank] = 0;
    if (static_cast<ReduceKind>(work.reduce) == ReduceKind::kPreMulSum && state.usable != 0) {
      state.scalar[rank] = read_scalar(buffers, work.element_bytes);
    }
  }
  if (work.slots != nullptr && threadIdx.x == blockDim.x - 1 &&
      *static_cast<const volatile std::uint32_t*>(work.stopped) != 0) {
    state.usable = 0;
  }
  __syncthreads();
  return state.usable != 0;
}

/// Tells the ranks that wait in their streams that all is done; the last block does it for all.
__device__ inline void close_work(const Work& work) {
  if (work.slots == nullptr) return;
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    is_last = gridDim.x == 1 || atomicAdd(work.finished, 1U) == gridDim.x - 1;
    if (is_last && gridDim.x != 1) *work.finished = 0;
  }
  __syncthreads();
  const auto rank = static_cast<int>(threadIdx.x);
  if (!is_last || rank >= work.ranks || rank == work.leader) return;
  *static_cast<volatile std::uint32_t*>(&work.flags[rank].ready) = 0;
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(&work.flags[rank].done) = 1;
}

/// Points the block at the buffers of `row`.
__device__ inline void open_row(const Work& work, const RowPlan& plan, int row, BlockState& state) {
  const std::size_t block_bytes = work.count * work.element_bytes;
  const auto lane = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (lane < plan.inputs) {
    const Place place = input_place(work.function, work.root, row, lane);
    state.in[lane] = state.send[place.rank] + static_cast<std::size_t>(place.block) * block_bytes;
  }
  if (lane < plan.outputs) {
    const Place place = output_place(work.function, work.root, row, lane);
    state.out[lane] =
        state.receive[place.rank] + static_cast<std::size_t>(place.block) * block_bytes;
  }
  __syncthreads();
}

/// This block's place among all. Blocks that share a multiprocessor are neighbours, so that it has
/// few pages of each buffer in use at a time.
__device__ inline unsigned block_place() {
  constexpr unsigned kTogether = kBlocksPerMultiprocessor;
  const unsigned apart = gridDim.x / kTogether;
  if (gridDim.x % kTogether != 0) return blockIdx.x;
  return blockIdx.x % apart * kTogether + blockIdx.x / apart;
}

/// Calls body(tile) for this block's tiles, with the row's pointers in `state`.
template <typename Body>
__device__ void for_tiles(const Work& work, const RowPlan& plan, BlockState& state, Body body) {
  const std::uint64_t tiles = static_cast<std::uint64_t>(plan.rows) * work.tiles_per_row;
  int open = -1;
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * work.parts;
  for (std::uint64_t tile = static_cast<std::uint64_t>(block_place()) * work.parts + work.part;
       tile < tiles; tile += step) {
    const auto row = static_cast<int>(tile / work.tiles_per_row);
    if (row != open) {
      open_row(work, plan, row, state);
      open = row;
    }
    body(static_cast<std::uint32_t>(tile % work.tiles_per_row));
  }
}

/// Bits in which the addresses of a row differ, below 16.
__device__ inline std::uintptr_t misfit(const std::byte* const* in, int inputs,
                                        std::byte* const* out, int outputs) {
  const auto first = reinterpret_cast<std::uintptr_t>(in[0]);
  std::uintptr_t differing = 0;
  for (int input = 1; input < inputs; ++input) {
    differing |= reinterpret_cast<std::uintptr_t>(in[input]) ^ first;
  }
  for (int output = 0; output < outputs; ++output) {
    differing |= reinterpret_cast<std::uintptr_t>(out[output]) ^ first;
  }
  return differing & (kVectorBytes - 1);
}

}  // namespace ripieno::coll::gpu

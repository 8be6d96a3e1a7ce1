// The kernel of the reducing collectives, for one type; the operator is picked once a launch.
#pragma once

#include "coll/cuda/arithmetic.cuh"
#include "coll/cuda/launch.h"
#include "coll/cuda/pack.cuh"
#include "coll/cuda/tiles.cuh"

namespace ripieno::coll::gpu {

/// Inputs that a thread loads before it uses the first; many narrow elements leave fewer registers.
template <typename Raw>
inline constexpr int kBatch = sizeof(Raw) == 1 ? 2 : 4;

/// Reduces one pack of every input into every output, `offset` bytes into them.
template <typename Operator, typename Arithmetic, int kLanes>
__device__ __forceinline__ void reduce_pack(const BlockState& state, const RowPlan& plan,
                                            const Terms& terms, std::size_t offset) {
  using Raw = typename Arithmetic::Raw;
  using Group = Pack<Raw, kLanes>;
  typename Operator::Sum sums[kLanes];
  for (int base = 0; base < plan.inputs; base += kBatch<Raw>) {
    Group group[kBatch<Raw>];
#pragma unroll
    for (int k = 0; k < kBatch<Raw>; ++k) {
      if (base + k < plan.inputs) {
        group[k] = *reinterpret_cast<const Group*>(state.in[base + k] + offset);
      }
    }
#pragma unroll
    for (int k = 0; k < kBatch<Raw>; ++k) {
      if (base + k < plan.inputs) {
        typename Arithmetic::Value factor{};
        if constexpr (Operator::kScaled) factor = factor_of<Arithmetic>(state.scalar[base + k]);
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) {
          const auto value = Arithmetic::widen(group[k].lane[lane]);
          sums[lane] = k == 0 && base == 0 ? Operator::first(value, factor)
                                           : Operator::next(sums[lane], value, factor);
        }
      }
    }
  }
  Group result;
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) {
    result.lane[lane] = Operator::finish(sums[lane], terms);
  }
  for (int output = 0; output < plan.outputs; ++output) {
    *reinterpret_cast<Group*>(state.out[output] + offset) = result;
  }
}

template <typename Operator, typename Arithmetic>
__device__ __forceinline__ void reduce_tile(const Work& work, const BlockState& state,
                                            const RowPlan& plan, std::uint32_t tile) {
  using Raw = typename Arithmetic::Raw;
  constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(Raw));
  const Terms terms{work.ranks};
  const std::uint64_t per_tile = work.vectors_per_tile;
  if (misfit(state.in, plan.inputs, state.out, plan.outputs) != 0) {
    const std::uint64_t begin = tile * per_tile * kLanes;
    const std::uint64_t end = min(begin + per_tile * kLanes, work.count);
    for (std::uint64_t element = begin + threadIdx.x; element < end; element += blockDim.x) {
      reduce_pack<Operator, Arithmetic, 1>(state, plan, terms, element * sizeof(Raw));
    }
    return;
  }
  // head elements up to the first border, whole vectors, tail elements
  const auto first = reinterpret_cast<std::uintptr_t>(state.in[0]);
  const std::uint64_t head =
      min(static_cast<std::uint64_t>((-first & (kVectorBytes - 1)) / sizeof(Raw)), work.count);
  const std::uint64_t vectors = (work.count - head) / kLanes;
  const std::uint64_t end = min((tile + 1) * per_tile, vectors);
  for (std::uint64_t vector = tile * per_tile + threadIdx.x; vector < end; vector += blockDim.x) {
    reduce_pack<Operator, Arithmetic, kLanes>(state, plan, terms,
                                              head * sizeof(Raw) + vector * kVectorBytes);
  }
  if (tile == 0) {
    const std::uint64_t odd = work.count - vectors * kLanes;
    for (std::uint64_t edge = threadIdx.x; edge < odd; edge += blockDim.x) {
      const std::uint64_t element = edge < head ? edge : edge + vectors * kLanes;
      reduce_pack<Operator, Arithmetic, 1>(state, plan, terms, element * sizeof(Raw));
    }
  }
}

template <typename Operator, typename Arithmetic>
__device__ __forceinline__ void reduce_rows(const Work& work, BlockState& state) {
  const RowPlan plan = plan_rows(work.function, work.ranks);
  for_tiles(work, plan, state, [&](std::uint32_t tile) {
    reduce_tile<Operator, Arithmetic>(work, state, plan, tile);
  });
}

template <ncclDataType_t kType>
__global__ void __launch_bounds__(kThreads, 2) reduce_kernel(const __grid_constant__ Work work) {
  using Of = Types<kType>;
  using Single = typename Of::Arithmetic;
  using Extremes = typename Of::Extremes;
  using Mean = typename Of::Mean;
  __shared__ BlockState state;
  if (open_work(work, state)) {
    switch (static_cast<ReduceKind>(work.reduce)) {
      case ReduceKind::kSum:
        reduce_rows<Add<Single>, Single>(work, state);
        break;
      case ReduceKind::kProd:
        reduce_rows<Multiply<Single>, Single>(work, state);
        break;
      case ReduceKind::kMax:
        reduce_rows<Extreme<Extremes, true>, Extremes>(work, state);
        break;
      case ReduceKind::kMin:
        reduce_rows<Extreme<Extremes, false>, Extremes>(work, state);
        break;
      case ReduceKind::kAverage:
        reduce_rows<Mean, typename Mean::Type>(work, state);
        break;
      case ReduceKind::kPreMulSum:
        reduce_rows<ScaleAndAdd<Single>, Single>(work, state);
        break;
    }
  }
  close_work(work);
}

template <ncclDataType_t kType>
const void* reduce_function() {
  return reinterpret_cast<const void*>(&reduce_kernel<kType>);
}

}  // namespace ripieno::coll::gpu

// The kernel of one_shot.h for one type. A thread has one unit of the input to send, and then one
// unit of every block of the output to make.
#pragma once

#include "coll/cuda/arithmetic.cuh"
#include "coll/cuda/one_shot.h"
#include "coll/cuda/pack.cuh"
#include "coll/cuda/tiles.cuh"

namespace ripieno::coll::gpu {

/// Looks at the flags that stop a kernel once in so many looks at a unit.
inline constexpr int kLooksBetweenStops = 4096;
inline constexpr int kLookAhead = 4;

__device__ __forceinline__ void put(Unit* unit, std::uint64_t data, std::uint32_t epoch) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(unit),
               "r"(static_cast<std::uint32_t>(data)), "r"(epoch),
               "r"(static_cast<std::uint32_t>(data >> 32))
               : "memory");
}

__device__ __forceinline__ Unit look(const Unit* unit) {
  Unit seen;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(seen.low), "=r"(seen.low_epoch), "=r"(seen.high), "=r"(seen.high_epoch)
               : "l"(unit)
               : "memory");
  return seen;
}

/// Data of the unit of `epoch` at `unit`, last seen as `seen`; zero if the communicator has been
/// stopped.
__device__ __forceinline__ std::uint64_t take(Unit seen, const Unit* unit, std::uint32_t epoch,
                                              const Fault* fault) {
  for (int looks = 1;; ++looks) {
    if (seen.low_epoch == epoch && seen.high_epoch == epoch) {
      return static_cast<std::uint64_t>(seen.high) << 32 | seen.low;
    }
    if (looks % kLooksBetweenStops == 0 &&
        *static_cast<const volatile std::uint32_t*>(&fault->stopped) != 0) {
      return 0;
    }
    seen = look(unit);
  }
}

/// The 8 bytes at `from`, of which `elements` belong to the buffer.
template <typename Raw>
__device__ __forceinline__ std::uint64_t load_unit(const std::byte* from, std::uint64_t elements) {
  constexpr int kLanes = static_cast<int>(kUnitBytes / sizeof(Raw));
  if (elements >= kLanes && (reinterpret_cast<std::uintptr_t>(from) & (kUnitBytes - 1)) == 0) {
    return *reinterpret_cast<const std::uint64_t*>(from);
  }
  std::uint64_t unit = 0;
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) {
    if (lane < elements) {
      std::uint64_t bits = 0;
      memcpy(&bits, reinterpret_cast<const Raw*>(from) + lane, sizeof(Raw));
      unit |= bits << (8 * sizeof(Raw) * lane);
    }
  }
  return unit;
}

template <typename Raw>
__device__ __forceinline__ void store_unit(std::byte* to, std::uint64_t unit,
                                           std::uint64_t elements) {
  constexpr int kLanes = static_cast<int>(kUnitBytes / sizeof(Raw));
  if (elements >= kLanes && (reinterpret_cast<std::uintptr_t>(to) & (kUnitBytes - 1)) == 0) {
    *reinterpret_cast<std::uint64_t*>(to) = unit;
    return;
  }
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) {
    if (lane < elements) {
      reinterpret_cast<Raw*>(to)[lane] = static_cast<Raw>(unit >> (8 * sizeof(Raw) * lane));
    }
  }
}

/// Unit `unit` of the input of every rank, reduced in rank order.
template <typename Operator, typename Arithmetic>
__device__ __forceinline__ std::uint64_t reduce_unit(const OneShotWork& work, std::uint64_t unit,
                                                     std::uint32_t epoch) {
  using Raw = typename Arithmetic::Raw;
  constexpr int kLanes = static_cast<int>(kUnitBytes / sizeof(Raw));
  typename Operator::Sum sums[kLanes];
  for (int base = 0; base < work.ranks; base += kLookAhead) {
    // All looks of a batch are under way before the first is waited for.
    Unit seen[kLookAhead];
#pragma unroll
    for (int k = 0; k < kLookAhead; ++k) {
      if (base + k < work.ranks) seen[k] = look(&work.boxes[base + k]->data[epoch & 1][unit]);
    }
#pragma unroll
    for (int k = 0; k < kLookAhead; ++k) {
      if (base + k < work.ranks) {
        const Unit* const place = &work.boxes[base + k]->data[epoch & 1][unit];
        const std::uint64_t bits = take(seen[k], place, epoch, work.fault);
        Pack<Raw, kLanes> group;
        memcpy(&group, &bits, sizeof bits);
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) {
          const auto value = Arithmetic::widen(group.lane[lane]);
          sums[lane] =
              base + k == 0 ? Operator::first(value, {}) : Operator::next(sums[lane], value, {});
        }
      }
    }
  }
  Pack<Raw, kLanes> result;
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) {
    result.lane[lane] = Operator::finish(sums[lane], Terms{work.ranks});
  }
  std::uint64_t bits;
  memcpy(&bits, &result, sizeof bits);
  return bits;
}

/// Who sends what, and whose data a unit of the output comes from.
struct OneShotPlan {
  Shape shape;
  std::uint64_t units_in;         ///< Of this rank's input.
  std::uint64_t units_per_block;  ///< Blocks of more than one start at a unit: see fits_one_shot().
};

__device__ inline void send_input(const OneShotWork& work, const OneShotPlan& plan,
                                  std::uint32_t epoch) {
  const int lanes = static_cast<int>(kUnitBytes) / work.element_bytes;
  const std::uint64_t elements =
      work.count * static_cast<std::uint64_t>(plan.shape.blocks_in(work.ranks));
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t unit = blockIdx.x * blockDim.x + threadIdx.x; unit < plan.units_in;
       unit += step) {
    const std::byte* const from = work.send + unit * kUnitBytes;
    const std::uint64_t left = elements - unit * lanes;
    std::uint64_t data = 0;
    switch (work.element_bytes) {
      case 1:
        data = load_unit<std::uint8_t>(from, left);
        break;
      case 2:
        data = load_unit<std::uint16_t>(from, left);
        break;
      case 4:
        data = load_unit<std::uint32_t>(from, left);
        break;
      default:
        data = load_unit<std::uint64_t>(from, left);
        break;
    }
    put(&work.own->data[epoch & 1][unit], data, epoch);
  }
}

/// Ranks whose kernels have begun this operation. False if one of them does something else.
__device__ inline bool greet(const OneShotWork& work, std::uint32_t epoch) {
  __shared__ int agreed;
  const std::uint64_t word = work.signature * 0x9E3779B97F4A7C15ULL ^ work.count;
  if (threadIdx.x == 0) {
    agreed = 1;
    if (blockIdx.x == 0) put(&work.own->greeting[epoch & 1], word, epoch);
  }
  __syncthreads();
  const auto rank = static_cast<int>(threadIdx.x);
  if (rank < work.ranks) {
    const Unit* const place = &work.boxes[rank]->greeting[epoch & 1];
    const std::uint64_t theirs = take(look(place), place, epoch, work.fault);
    if (theirs != word) {
      agreed = 0;
      if (blockIdx.x == 0) {
        work.fault->rank = static_cast<std::uint32_t>(rank);
        work.fault->one_shot = 1;
        work.fault->expected_count = work.count;
        work.fault->expected_signature = work.signature;
        __threadfence_system();
        *static_cast<volatile std::uint32_t*>(&work.fault->raised) = 1;
      }
    }
  }
  __syncthreads();
  return agreed != 0;
}

template <typename Raw, typename Make>
__device__ __forceinline__ void make_output(const OneShotWork& work, const OneShotPlan& plan,
                                            Make make) {
  constexpr int kLanes = static_cast<int>(kUnitBytes / sizeof(Raw));
  const auto blocks = static_cast<std::uint64_t>(plan.shape.blocks_out(work.ranks));
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t index = blockIdx.x * blockDim.x + threadIdx.x;
       index < blocks * plan.units_per_block; index += step) {
    const std::uint64_t block = index / plan.units_per_block;
    const std::uint64_t unit = index % plan.units_per_block;
    store_unit<Raw>(work.receive + block * work.count * sizeof(Raw) + unit * kUnitBytes,
                    make(static_cast<int>(block), unit), work.count - unit * kLanes);
  }
}

template <typename Operator, typename Arithmetic>
__device__ __forceinline__ void reduce_output(const OneShotWork& work, const OneShotPlan& plan,
                                              std::uint32_t epoch) {
  const std::uint64_t first = plan.shape.many_in ? work.rank * plan.units_per_block : 0;
  make_output<typename Arithmetic::Raw>(work, plan, [&](int, std::uint64_t unit) {
    return reduce_unit<Operator, Arithmetic>(work, first + unit, epoch);
  });
}

template <typename Raw>
__device__ __forceinline__ void copy_output(const OneShotWork& work, const OneShotPlan& plan,
                                            std::uint32_t epoch) {
  const std::uint64_t first = plan.shape.many_in ? work.rank * plan.units_per_block : 0;
  make_output<Raw>(work, plan, [&](int block, std::uint64_t unit) {
    const int source = plan.shape.root_source ? work.root : block;
    const Unit* const place = &work.boxes[source]->data[epoch & 1][first + unit];
    return take(look(place), place, epoch, work.fault);
  });
}

template <ncclDataType_t kType>
__device__ __forceinline__ void receive_output(const OneShotWork& work, const OneShotPlan& plan,
                                               std::uint32_t epoch) {
  using Of = Types<kType>;
  using Single = typename Of::Arithmetic;
  using Extremes = typename Of::Extremes;
  using Mean = typename Of::Mean;
  if (!plan.shape.reduces) {
    copy_output<typename Single::Raw>(work, plan, epoch);
    return;
  }
  switch (static_cast<ReduceKind>(work.reduce)) {
    case ReduceKind::kSum:
      reduce_output<Add<Single>, Single>(work, plan, epoch);
      break;
    case ReduceKind::kProd:
      reduce_output<Multiply<Single>, Single>(work, plan, epoch);
      break;
    case ReduceKind::kMax:
      reduce_output<Extreme<Extremes, true>, Extremes>(work, plan, epoch);
      break;
    case ReduceKind::kMin:
      reduce_output<Extreme<Extremes, false>, Extremes>(work, plan, epoch);
      break;
    default:
      reduce_output<Mean, typename Mean::Type>(work, plan, epoch);
      break;
  }
}

template <ncclDataType_t kType>
__global__ void __launch_bounds__(kOneShotThreads)
    one_shot_kernel(const __grid_constant__ OneShotWork work) {
  const std::uint32_t epoch = *static_cast<volatile std::uint32_t*>(&work.own->epoch) + 1;
  OneShotPlan plan;
  plan.shape = shape_of(work.function);
  const std::uint64_t block_bytes = work.count * work.element_bytes;
  plan.units_per_block = (block_bytes + kUnitBytes - 1) / kUnitBytes;
  plan.units_in =
      plan.units_per_block * static_cast<std::uint64_t>(plan.shape.blocks_in(work.ranks));
  if (plan.shape.is_source(work.rank, work.root)) send_input(work, plan, epoch);
  const bool agreed = greet(work, epoch);
  if (agreed && plan.shape.is_sink(work.rank, work.root)) {
    receive_output<kType>(work, plan, epoch);
  }
  // The last block counts the operation.
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(&work.own->finished, 1U) == gridDim.x - 1) {
      work.own->finished = 0;
      work.own->epoch = epoch;
    }
  }
}

template <ncclDataType_t kType>
const void* one_shot_function() {
  return reinterpret_cast<const void*>(&one_shot_kernel<kType>);
}

}  // namespace ripieno::coll::gpu

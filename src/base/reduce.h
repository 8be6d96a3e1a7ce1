// Reductions and copies on the CPU, vectorised with Highway and chosen for the processor at run
// time. Every reduction takes its inputs in order (rank order), so the bits of a result depend on
// the inputs alone.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace ripieno {

enum class ReduceKind : std::uint8_t { kSum, kProd, kMax, kMin, kAverage, kPreMulSum };

/// What is computed. 16- and 8-bit floating types accumulate in float32 and round once; float32
/// average accumulates in float64; integers wrap. kAverage divides the sum by `ranks` (integers
/// truncate toward zero; floating sums are scaled so that they do not overflow when the average
/// itself does not). kMax and kMin ignore a NaN where the other value is a number. kPreMulSum
/// multiplies each input by `scalar` first.
struct Reduction {
  ncclDataType_t type;
  ReduceKind kind;
  int ranks;             ///< Divisor of kAverage: the number of ranks.
  std::uint64_t scalar;  ///< kPreMulSum: one value of `type` in the low bytes.
};

/// Whether results are likely to be read soon (cached) or are larger than the caches (streaming,
/// past them).
enum class Store : std::uint8_t { kCached, kStreaming };

/// outputs[k][e] = reduction over inputs[0][e], inputs[1][e], ... for e in [0, count) and every k.
/// Pointers need only the element's size alignment, or none at all; an output may be exactly one of
/// the inputs, other overlap is not allowed. At least one input; any number of outputs. One input:
/// the reduction of a single rank (average: a copy).
void reduce(const Reduction& reduction, std::span<const std::byte* const> inputs,
            std::span<std::byte* const> outputs, std::size_t count, Store store) noexcept;

/// Copies `bytes`; no overlap unless to == from (then nothing happens).
void copy(std::byte* to, const std::byte* from, std::size_t bytes, Store store) noexcept;

/// Size of one element in bytes; 0 for an unknown type.
constexpr std::size_t type_size(ncclDataType_t type) noexcept {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

/// "float32", "bfloat16", ...
const char* type_name(ncclDataType_t type) noexcept;

}  // namespace ripieno

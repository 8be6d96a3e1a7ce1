// What the reduction's driver and its kernels agree on. A kernel reduces blocks of elements of one
// type with one operation, for one processor target; the driver (reduce.cc) cuts a call into passes
// of few inputs, tiles that stay in the cache, and heads and tails that fill no block. Private to
// the base room and its tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/reduce.h"

namespace ripieno::reduction {

/// Numbers an operation needs beside its inputs, prepared once a call.
struct Operands {
  std::uint64_t scalar_bits = 0;  ///< kPreMulSum for integers.
  double scalar = 0;              ///< kPreMulSum for floating types; exact for each of them.
  double divisor = 1;             ///< kAverage: the number of ranks.
  double scale =
      1;  ///< kAverage: a power of two below 1 / ranks, so that scaled sums cannot overflow.
};

/// One pass of a kernel over elements [begin, begin + count). Without `seed` the first input starts
/// the accumulators, else they continue from there. With `keep` they are stored there unfinished,
/// else finished and written to outputs. `seed` and `keep` hold accumulators of the elements from
/// `begin` on, and may be the same memory.
struct Pass {
  const std::byte* const* inputs;
  std::size_t input_count;
  std::byte* const* outputs;
  std::size_t output_count;
  std::size_t begin;
  std::size_t count;  ///< A multiple of the kernel's block.
  const std::byte* seed;
  std::byte* keep;
  Store store;
  const Operands* operands;
};

struct Kernel {
  void (*run)(const Pass&) noexcept = nullptr;
  std::uint16_t block = 1;  ///< Elements in a block.
  bool keeps = true;        ///< Whether it can `keep`; if not, one pass takes all inputs.
};

inline constexpr std::size_t kMaxBlockBytes = 1024;  ///< Of one block of any type.
inline constexpr std::size_t kMaxAccumulatorBytes = 8;
inline constexpr int kTypeCount = 12;
inline constexpr int kKindCount = 6;

/// The kernels of one processor target, by type and kind, and its copy past the caches.
struct KernelTable {
  std::array<std::array<Kernel, kKindCount>, kTypeCount> kernels;
  void (*stream_copy)(std::byte* to, const std::byte* from, std::size_t bytes) noexcept = nullptr;
};

enum class Target : std::uint8_t { kPortable, kNeon, kSve, kAvx2, kAvx512 };

std::string_view target_name(Target target) noexcept;

/// Targets compiled in that this processor can run, the best last.
std::span<const Target> available_targets() noexcept;

/// Makes every later reduction use `target`, if it is available; for tests and benchmarks. Until
/// then it is the best.
void use_target(Target target) noexcept;
Target current_target() noexcept;

const KernelTable& current_kernels() noexcept;
const KernelTable& portable_kernels() noexcept;

}  // namespace ripieno::reduction

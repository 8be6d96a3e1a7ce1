// Drives the reduction kernels: cuts a call into a head up to the outputs' alignment, whole blocks
// and a tail, and many inputs into groups over tiles that stay in the first-level cache. The
// kernels themselves know nothing of this.
#include "base/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/float_formats.h"
#include "base/reduce_kernel.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ripieno {
namespace reduction {
namespace {

/// Inputs read side by side in one pass: what hardware prefetchers follow and the first-level
/// cache's ways can hold when all inputs lie at the same offset of their pages.
constexpr std::size_t kGroup = 8;
constexpr std::size_t kTile =
    2048;  ///< Elements; their accumulators take half of the first-level cache.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kTiny = 4;  ///< Elements for which the portable kernels are the fastest.

/// Orders streaming stores before whatever this thread publishes next.
void finish_streaming() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

double scalar_value(ncclDataType_t type, std::uint64_t bits) noexcept {
  switch (type) {
    case ncclFloat16:
      return float16_to_float(static_cast<std::uint16_t>(bits));
    case ncclBfloat16:
      return bfloat16_to_float(static_cast<std::uint16_t>(bits));
    case ncclFloat8e4m3:
      return float8_e4m3_to_float(static_cast<std::uint8_t>(bits));
    case ncclFloat8e5m2:
      return float8_e5m2_to_float(static_cast<std::uint8_t>(bits));
    case ncclFloat32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case ncclFloat64:
      return std::bit_cast<double>(bits);
    default:
      return 0;
  }
}

Operands operands_of(const Reduction& reduction) noexcept {
  Operands operands;
  if (reduction.kind == ReduceKind::kPreMulSum) {
    operands.scalar_bits = reduction.scalar;
    operands.scalar = scalar_value(reduction.type, reduction.scalar);
  } else if (reduction.kind == ReduceKind::kAverage) {
    const auto ranks = static_cast<std::uint32_t>(std::max(reduction.ranks, 1));
    operands.divisor = ranks;
    operands.scale = 0.5 / static_cast<double>(std::bit_ceil(ranks));
  }
  return operands;
}

/// One call of `reduce`, with its kernel and operands looked up.
class Call {
 public:
  Call(const Kernel& kernel, const Operands& operands, std::size_t element_bytes,
       std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
       Store store) noexcept
      : kernel_(kernel),
        operands_(operands),
        element_bytes_(element_bytes),
        inputs_(inputs),
        outputs_(outputs),
        store_(store) {}

  void run(std::size_t count) const noexcept {
    const std::size_t head = head_of(count);
    const std::size_t body = (count - head) / kernel_.block * kernel_.block;
    run_partial_block(0, head);
    run_blocks(head, body);
    run_partial_block(head + body, count - head - body);
  }

 private:
  /// Elements before the first output is aligned; none where that never happens or does not pay.
  std::size_t head_of(std::size_t count) const noexcept {
    if (count < 2 * std::size_t{kernel_.block}) return 0;
    const std::size_t past = reinterpret_cast<std::uintptr_t>(outputs_[0]) % kAlignment;
    if (past % element_bytes_ != 0) return 0;
    return (kAlignment - past) % kAlignment / element_bytes_ % kernel_.block;
  }

  std::size_t group_size() const noexcept { return kernel_.keeps ? kGroup : inputs_.size(); }

  void run_blocks(std::size_t begin, std::size_t count) const noexcept {
    if (count == 0) return;
    if (inputs_.size() <= group_size()) {
      run_pass(inputs_, outputs_, begin, count, nullptr, nullptr, store_);
      return;
    }
    const std::size_t tile = kTile / kernel_.block * kernel_.block;
    for (std::size_t done = 0; done < count; done += tile) {
      run_tile(begin + done, std::min(tile, count - done));
    }
  }

  void run_tile(std::size_t begin, std::size_t count) const noexcept {
    alignas(kAlignment) std::byte accumulators[kTile * kMaxAccumulatorBytes];
    for (std::size_t input = 0; input < inputs_.size(); input += kGroup) {
      const bool is_last = input + kGroup >= inputs_.size();
      run_pass(inputs_.subspan(input, std::min(kGroup, inputs_.size() - input)), outputs_, begin,
               count, input == 0 ? nullptr : accumulators, is_last ? nullptr : accumulators,
               store_);
    }
  }

  /// Fewer elements than a block: through copies of a block's size. Only kernels that keep have
  /// blocks.
  void run_partial_block(std::size_t begin, std::size_t count) const noexcept {
    if (count == 0) return;
    alignas(kAlignment) std::byte copies[kGroup][kMaxBlockBytes];
    alignas(kAlignment) std::byte accumulators[kMaxBlockBytes * kMaxAccumulatorBytes];
    alignas(kAlignment) std::byte result[kMaxBlockBytes];
    const std::size_t offset = begin * element_bytes_;
    const std::size_t bytes = count * element_bytes_;
    const std::size_t block_bytes = kernel_.block * element_bytes_;

    for (std::size_t input = 0; input < inputs_.size(); input += kGroup) {
      const std::size_t group = std::min(kGroup, inputs_.size() - input);
      const std::byte* gathered[kGroup];
      for (std::size_t member = 0; member < group; ++member) {
        std::memcpy(copies[member], inputs_[input + member] + offset, bytes);
        std::memset(copies[member] + bytes, 0, block_bytes - bytes);
        gathered[member] = copies[member];
      }
      std::byte* const to = result;
      const bool is_last = input + kGroup >= inputs_.size();
      run_pass({gathered, group}, {&to, 1}, 0, kernel_.block, input == 0 ? nullptr : accumulators,
               is_last ? nullptr : accumulators, Store::kCached);
    }
    for (std::byte* output : outputs_) std::memcpy(output + offset, result, bytes);
  }

  void run_pass(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                std::size_t begin, std::size_t count, const std::byte* seed, std::byte* keep,
                Store store) const noexcept {
    kernel_.run({inputs.data(), inputs.size(), outputs.data(), outputs.size(), begin, count, seed,
                 keep, store, &operands_});
  }

  const Kernel& kernel_;
  const Operands& operands_;
  std::size_t element_bytes_;
  std::span<const std::byte* const> inputs_;
  std::span<std::byte* const> outputs_;
  Store store_;
};

/// One rank's sum, product, maximum, minimum or average is its input, bit for bit.
bool is_copy(const Reduction& reduction, std::size_t inputs) noexcept {
  if (inputs != 1 || reduction.kind == ReduceKind::kPreMulSum) return false;
  return reduction.kind != ReduceKind::kAverage || reduction.ranks <= 1;
}

}  // namespace
}  // namespace reduction

void reduce(const Reduction& reduction, std::span<const std::byte* const> inputs,
            std::span<std::byte* const> outputs, std::size_t count, Store store) noexcept {
  const std::size_t element_bytes = type_size(reduction.type);
  if (count == 0 || inputs.empty() || outputs.empty() || element_bytes == 0) return;
  if (reduction::is_copy(reduction, inputs.size())) {
    for (std::byte* output : outputs) copy(output, inputs[0], count * element_bytes, store);
    return;
  }
  // A handful of elements is done sooner one by one than through copies of a block's size.
  const bool is_tiny = count <= reduction::kTiny;
  const auto& table = is_tiny ? reduction::portable_kernels() : reduction::current_kernels();
  const auto& kernels = table.kernels[reduction.type];
  const auto operands = reduction::operands_of(reduction);
  reduction::Call(kernels[static_cast<std::size_t>(reduction.kind)], operands, element_bytes,
                  inputs, outputs, store)
      .run(count);
  if (store == Store::kStreaming) reduction::finish_streaming();
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes, Store store) noexcept {
  constexpr std::size_t kWorthStreaming = 4096;
  constexpr std::size_t kStep = reduction::kMaxBlockBytes;  // Whole blocks of any target's vectors.
  if (to == from || bytes == 0) return;
  if (store == Store::kCached || bytes < kWorthStreaming) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % reduction::kAlignment;
  const std::size_t head = (reduction::kAlignment - past) % reduction::kAlignment;
  const std::size_t body = (bytes - head) / kStep * kStep;
  std::memcpy(to, from, head);
  reduction::current_kernels().stream_copy(to + head, from + head, body);
  std::memcpy(to + head + body, from + head + body, bytes - head - body);
  reduction::finish_streaming();
}

const char* type_name(ncclDataType_t type) noexcept {
  switch (type) {
    case ncclInt8:
      return "int8";
    case ncclUint8:
      return "uint8";
    case ncclInt32:
      return "int32";
    case ncclUint32:
      return "uint32";
    case ncclInt64:
      return "int64";
    case ncclUint64:
      return "uint64";
    case ncclFloat16:
      return "float16";
    case ncclFloat32:
      return "float32";
    case ncclFloat64:
      return "float64";
    case ncclBfloat16:
      return "bfloat16";
    case ncclFloat8e4m3:
      return "float8e4m3";
    case ncclFloat8e5m2:
      return "float8e5m2";
    default:
      return "unknown type";
  }
}

}  // namespace ripieno

// Reductions in plain C++, for processors that no vector target fits and for the two operations
// that vectors do not help: averages of float64 and of 64-bit integers. Each kernel works on small
// blocks of accumulators, loop by loop, so that a compiler can still use the vectors that it may
// take for granted.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/float_formats.h"
#include "base/reduce_kernel.h"

namespace ripieno::reduction {
namespace {

/// How elements of a type are held while they are reduced.
template <typename T>
struct Plain {
  using Element = T;
  using Accumulator = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};

template <typename T, typename Wide>
struct Widened {
  using Element = T;
  using Accumulator = Wide;
  static Wide widen(T value) { return static_cast<Wide>(value); }
  static T narrow(Wide value) { return static_cast<T>(value); }
};

template <typename Format, Overflow kOverflow>
struct SmallFloat {
  using Element = typename Format::Bits;
  using Accumulator = float;
  static float widen(Element bits) { return decode<Format>(bits); }
  static Element narrow(float value) { return encode<Format>(value, kOverflow); }
};

/// Integers wrap; computing them unsigned (and not in int, whose overflow is undefined) makes that
/// well defined.
template <typename T>
constexpr T wrapping_product(T left, T right) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right));
  } else {
    return left * right;
  }
}

template <typename T>
constexpr T wrapping_sum(T left, T right) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
  } else {
    return left + right;
  }
}

struct Keep {
  template <typename T>
  static T first(T value, const Operands&) {
    return value;
  }
  template <typename T>
  static T finish(T value, const Operands&) {
    return value;
  }
};

struct Sum : Keep {
  template <typename T>
  static T next(T sum, T value, const Operands&) {
    return wrapping_sum(sum, value);
  }
};

struct Product : Keep {
  template <typename T>
  static T next(T product, T value, const Operands&) {
    return wrapping_product(product, value);
  }
};

template <bool kMaximum>
struct Extreme : Keep {
  template <typename T>
  static T next(T best, T value, const Operands&) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(best)) return value;
    }
    const bool better = kMaximum ? value > best : value < best;  // Never with a NaN.
    return better ? value : best;
  }
};

struct PreMultipliedSum : Keep {
  template <typename T>
  static T times_scalar(T value, const Operands& operands) {
    if constexpr (std::is_integral_v<T>) {
      return wrapping_product(value, static_cast<T>(operands.scalar_bits));
    } else {
      return value * static_cast<T>(operands.scalar);
    }
  }
  template <typename T>
  static T first(T value, const Operands& operands) {
    return times_scalar(value, operands);
  }
  template <typename T>
  static T next(T sum, T value, const Operands& operands) {
    return wrapping_sum(sum, times_scalar(value, operands));
  }
};

/// The accumulator is wide enough for the sum; integers truncate toward zero.
struct Average : Sum {
  template <typename T>
  static T finish(T sum, const Operands& operands) {
    return sum / static_cast<T>(operands.divisor);
  }
};

/// The sum may leave the accumulator's range though the average does not: add scaled values, exact
/// powers of two.
struct ScaledAverage : Keep {
  template <typename T>
  static T first(T value, const Operands& operands) {
    return value * static_cast<T>(operands.scale);
  }
  template <typename T>
  static T next(T sum, T value, const Operands& operands) {
    return sum + value * static_cast<T>(operands.scale);
  }
  template <typename T>
  static T finish(T sum, const Operands& operands) {
    return sum / static_cast<T>(operands.divisor * operands.scale);
  }
};

template <typename T>
T element_at(const std::byte* base, std::size_t index) {
  T value;
  std::memcpy(&value, base + index * sizeof(T), sizeof(T));
  return value;
}

constexpr std::size_t kBlock = 64;
constexpr std::size_t kFew = 4;

template <typename Type>
using Block = std::array<typename Type::Accumulator, kBlock>;

template <typename Type, typename Operation>
void accumulate(Block<Type>& block, const Pass& pass, std::size_t done, std::size_t lanes) {
  using Accumulator = typename Type::Accumulator;
  using Element = typename Type::Element;
  const std::size_t element = pass.begin + done;
  std::size_t input = 0;
  if (pass.seed != nullptr) {
    std::memcpy(block.data(), pass.seed + done * sizeof(Accumulator), lanes * sizeof(Accumulator));
  } else {
    const std::byte* from = pass.inputs[input++];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto value = Type::widen(element_at<Element>(from, element + lane));
      block[lane] = Operation::first(value, *pass.operands);
    }
  }
  for (; input < pass.input_count; ++input) {
    const std::byte* from = pass.inputs[input];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto value = Type::widen(element_at<Element>(from, element + lane));
      block[lane] = Operation::next(block[lane], value, *pass.operands);
    }
  }
}

/// One element at a time: the quickest for a handful, where loops over blocks cost more than their
/// work.
template <typename Type, typename Operation>
void run_few(const Pass& pass) {
  using Element = typename Type::Element;
  for (std::size_t element = pass.begin; element < pass.begin + pass.count; ++element) {
    const auto value_of = [&](std::size_t input) {
      return Type::widen(element_at<Element>(pass.inputs[input], element));
    };
    auto accumulator = Operation::first(value_of(0), *pass.operands);
    for (std::size_t input = 1; input < pass.input_count; ++input) {
      accumulator = Operation::next(accumulator, value_of(input), *pass.operands);
    }
    const Element result = Type::narrow(Operation::finish(accumulator, *pass.operands));
    for (std::size_t output = 0; output < pass.output_count; ++output) {
      std::memcpy(pass.outputs[output] + element * sizeof(Element), &result, sizeof(Element));
    }
  }
}

template <typename Type, typename Operation>
void run(const Pass& pass) noexcept {
  using Accumulator = typename Type::Accumulator;
  using Element = typename Type::Element;
  if (pass.count <= kFew && pass.seed == nullptr && pass.keep == nullptr) {
    run_few<Type, Operation>(pass);
    return;
  }
  Block<Type> block;
  for (std::size_t done = 0; done < pass.count; done += kBlock) {
    const std::size_t lanes = std::min(kBlock, pass.count - done);
    accumulate<Type, Operation>(block, pass, done, lanes);
    if (pass.keep != nullptr) {
      std::memcpy(pass.keep + done * sizeof(Accumulator), block.data(),
                  lanes * sizeof(Accumulator));
      continue;
    }
    std::array<Element, kBlock> result;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      result[lane] = Type::narrow(Operation::finish(block[lane], *pass.operands));
    }
    for (std::size_t output = 0; output < pass.output_count; ++output) {
      std::byte* to = pass.outputs[output] + (pass.begin + done) * sizeof(Element);
      std::memcpy(to, result.data(), lanes * sizeof(Element));
    }
  }
}

/// Averages of float64. The plain sum keeps every bit of small values; where it is not finite, the
/// scaled sum tells whether the average is, which rounding alone must not push past the largest
/// value. Needs all inputs in one pass.
void run_float64_average(const Pass& pass) noexcept {
  constexpr double kLargest = std::numeric_limits<double>::max();
  Block<Plain<double>> block;
  Block<Plain<double>> scaled;
  for (std::size_t done = 0; done < pass.count; done += kBlock) {
    const std::size_t lanes = std::min(kBlock, pass.count - done);
    const auto is_finite = [](double sum) { return std::isfinite(sum); };
    accumulate<Plain<double>, Average>(block, pass, done, lanes);
    if (!std::all_of(block.begin(), block.begin() + lanes, is_finite)) {
      accumulate<Plain<double>, ScaledAverage>(scaled, pass, done, lanes);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (std::isfinite(block[lane])) {
        block[lane] = Average::finish(block[lane], *pass.operands);
        continue;
      }
      const double average = ScaledAverage::finish(scaled[lane], *pass.operands);
      block[lane] =
          std::isfinite(scaled[lane]) ? std::clamp(average, -kLargest, kLargest) : average;
    }
    for (std::size_t output = 0; output < pass.output_count; ++output) {
      std::byte* to = pass.outputs[output] + (pass.begin + done) * sizeof(double);
      std::memcpy(to, block.data(), lanes * sizeof(double));
    }
  }
}

using Kinds = std::array<Kernel, kKindCount>;

/// The kernels of one type, in ReduceKind's order.
template <typename Type, typename ExtremeType, typename AverageType, typename AverageOperation>
constexpr Kinds kinds() {
  return {{{run<Type, Sum>},
           {run<Type, Product>},
           {run<ExtremeType, Extreme<true>>},
           {run<ExtremeType, Extreme<false>>},
           {run<AverageType, AverageOperation>},
           {run<Type, PreMultipliedSum>}}};
}

template <typename T, typename Wide>
constexpr Kinds integer_kinds() {
  return kinds<Plain<std::make_unsigned_t<T>>, Plain<T>, Widened<T, Wide>, Average>();
}

template <typename Format, Overflow kOverflow, Overflow kExtremeOverflow, typename AverageOperation>
constexpr Kinds small_float_kinds() {
  using Type = SmallFloat<Format, kOverflow>;
  return kinds<Type, SmallFloat<Format, kExtremeOverflow>, Type, AverageOperation>();
}

constexpr Kinds float64_kinds() {
  Kinds result = kinds<Plain<double>, Plain<double>, Plain<double>, Average>();
  result[static_cast<std::size_t>(ReduceKind::kAverage)] = {run_float64_average, 1, false};
  return result;
}

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

constexpr KernelTable make_table() {
  KernelTable table;
  table.kernels[ncclInt8] = integer_kinds<std::int8_t, std::int64_t>();
  table.kernels[ncclUint8] = integer_kinds<std::uint8_t, std::int64_t>();
  table.kernels[ncclInt32] = integer_kinds<std::int32_t, std::int64_t>();
  table.kernels[ncclUint32] = integer_kinds<std::uint32_t, std::int64_t>();
  table.kernels[ncclInt64] = integer_kinds<std::int64_t, std::int64_t>();
  table.kernels[ncclUint64] = integer_kinds<std::uint64_t, std::uint64_t>();
  table.kernels[ncclFloat32] = kinds<Plain<float>, Plain<float>, Widened<float, double>, Average>();
  table.kernels[ncclFloat64] = float64_kinds();
  table.kernels[ncclFloat16] =
      small_float_kinds<Float16Format, Overflow::kInfinity, Overflow::kInfinity, Average>();
  table.kernels[ncclBfloat16] =
      small_float_kinds<Bfloat16Format, Overflow::kInfinity, Overflow::kInfinity, ScaledAverage>();
  table.kernels[ncclFloat8e4m3] =
      small_float_kinds<Float8e4m3Format, Overflow::kSaturate, Overflow::kSaturate, Average>();
  table.kernels[ncclFloat8e5m2] = small_float_kinds<Float8e5m2Format, Overflow::kSaturate,
                                                    Overflow::kSaturateFinite, Average>();
  table.stream_copy = stream_copy;
  return table;
}

}  // namespace

const KernelTable& portable_kernels() noexcept {
  static constexpr KernelTable kTable = make_table();
  return kTable;
}

}  // namespace ripieno::reduction

// What a reduction should give, worked out the slow way: values of the small formats by ldexp,
// rounding by a search through a table of all codes, integers in 128 bits. Shares nothing with the
// code under test but its data types.
#pragma once

#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/reduce.h"

namespace ripieno::oracle {

/// A small floating format by its numbers; all codes of positive finite values in a table.
class SmallFormat {
 public:
  SmallFormat(int exponent_bits, int mantissa_bits, bool has_infinity, bool saturates)
      : exponent_bits_(exponent_bits),
        mantissa_bits_(mantissa_bits),
        has_infinity_(has_infinity),
        saturates_(saturates) {
    for (std::uint32_t code = 0; std::isfinite(value(code)) && code < sign_bit(); ++code) {
      values_.push_back(value(code));
    }
  }

  std::uint32_t sign_bit() const { return 1U << (exponent_bits_ + mantissa_bits_); }
  std::uint32_t largest_code() const { return static_cast<std::uint32_t>(values_.size()) - 1; }
  std::uint32_t infinity_code() const { return largest_code() + 1; }

  double value(std::uint32_t code) const {
    const double sign = (code & sign_bit()) != 0 ? -1.0 : 1.0;
    const std::uint32_t magnitude = code & (sign_bit() - 1);
    const std::uint32_t mantissa = magnitude & ((1U << mantissa_bits_) - 1);
    const int exponent = static_cast<int>(magnitude >> mantissa_bits_);
    const int bias = (1 << (exponent_bits_ - 1)) - 1;
    const bool all_ones = exponent == (1 << exponent_bits_) - 1;
    if (all_ones && has_infinity_) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
    }
    if (magnitude == sign_bit() - 1) return std::nan("");
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits_);
    return sign * std::ldexp((1U << mantissa_bits_) + mantissa, exponent - bias - mantissa_bits_);
  }

  /// The code nearest to `wanted`, an even one where two are; any NaN code for a NaN.
  std::uint32_t nearest(double wanted, bool keep_infinity = false) const {
    const std::uint32_t sign = std::signbit(wanted) ? sign_bit() : 0;
    const double magnitude = std::fabs(wanted);
    if (std::isnan(wanted)) return sign | (sign_bit() - 1);
    if (std::isinf(wanted) && (keep_infinity || !saturates_)) return sign | infinity_code();
    const double last_step = values_.back() - values_[values_.size() - 2];
    if (magnitude >= values_.back() + last_step / 2) {
      return sign | (saturates_ ? largest_code() : infinity_code());
    }
    if (magnitude >= values_.back()) return sign | largest_code();
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    const auto upper = static_cast<std::uint32_t>(above - values_.begin());
    const double up = *above - magnitude;
    const double down = magnitude - *(above - 1);
    if (up != down) return sign | (up < down ? upper : upper - 1);
    return sign | (upper % 2 == 0 ? upper : upper - 1);
  }

 private:
  int exponent_bits_;
  int mantissa_bits_;
  bool has_infinity_;
  bool saturates_;
  std::vector<double> values_;
};

inline const SmallFormat& small_format(ncclDataType_t type) {
  static const SmallFormat float16(5, 10, true, false);
  static const SmallFormat bfloat16(8, 7, true, false);
  static const SmallFormat e4m3(4, 3, false, true);
  static const SmallFormat e5m2(5, 2, true, true);
  switch (type) {
    case ncclFloat16:
      return float16;
    case ncclBfloat16:
      return bfloat16;
    case ncclFloat8e4m3:
      return e4m3;
    default:
      return e5m2;
  }
}

inline bool is_small_float(ncclDataType_t type) {
  return type == ncclFloat16 || type == ncclBfloat16 || type == ncclFloat8e4m3 ||
         type == ncclFloat8e5m2;
}

inline bool is_float(ncclDataType_t type) {
  return is_small_float(type) || type == ncclFloat32 || type == ncclFloat64;
}

inline bool is_signed_integer(ncclDataType_t type) {
  return type == ncclInt8 || type == ncclInt32 || type == ncclInt64;
}

template <typename T>
T bits_as(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

/// The value of an element of a floating type.
inline double value_of(ncclDataType_t type, std::uint64_t bits) {
  if (type == ncclFloat32) return bits_as<float>(bits);
  if (type == ncclFloat64) return bits_as<double>(bits);
  return small_format(type).value(static_cast<std::uint32_t>(bits));
}

/// Accumulates in order in `Float`. Products go through a volatile, lest the compiler fuses them
/// into sums.
template <typename Float>
double reduce_floats(ReduceKind kind, const std::vector<double>& values, double scalar,
                     Float scale) {
  const auto term = [&](double value) {
    volatile Float product = static_cast<Float>(value);
    if (kind == ReduceKind::kPreMulSum) product = product * static_cast<Float>(scalar);
    if (kind == ReduceKind::kAverage) product = product * scale;
    return static_cast<Float>(product);
  };
  Float result = term(values[0]);
  for (std::size_t input = 1; input < values.size(); ++input) {
    const Float value = term(values[input]);
    switch (kind) {
      case ReduceKind::kProd:
        result = result * value;
        break;
      case ReduceKind::kMax:
        if (std::isnan(result) || value > result) result = value;
        break;
      case ReduceKind::kMin:
        if (std::isnan(result) || value < result) result = value;
        break;
      default:
        result = result + value;
    }
  }
  return result;
}

inline double average(ncclDataType_t type, const std::vector<double>& values, int ranks) {
  constexpr auto kKind = ReduceKind::kAverage;
  if (type == ncclFloat32) return reduce_floats<double>(kKind, values, 0, 1) / ranks;
  if (type == ncclFloat64) {
    const double sum = reduce_floats<double>(kKind, values, 0, 1);
    if (std::isfinite(sum)) return sum / ranks;
    const double scale = std::exp2(-std::ceil(std::log2(ranks)));
    return reduce_floats<double>(kKind, values, 0, scale) / (ranks * scale);
  }
  const auto sum = static_cast<float>(reduce_floats<float>(kKind, values, 0, 1));
  if (std::isfinite(sum)) return sum / static_cast<float>(ranks);
  const auto scale = static_cast<float>(std::exp2(-std::ceil(std::log2(ranks))));
  return static_cast<float>(reduce_floats<float>(kKind, values, 0, scale)) /
         (static_cast<float>(ranks) * scale);
}

inline std::uint64_t reduce_float_bits(const Reduction& reduction,
                                       const std::vector<std::uint64_t>& inputs) {
  std::vector<double> values;
  for (const std::uint64_t bits : inputs) values.push_back(value_of(reduction.type, bits));
  const double scalar =
      reduction.kind == ReduceKind::kPreMulSum ? value_of(reduction.type, reduction.scalar) : 0;
  double result = 0;
  if (reduction.kind == ReduceKind::kAverage) {
    result = average(reduction.type, values, reduction.ranks);
  } else if (reduction.type == ncclFloat64) {
    result = reduce_floats<double>(reduction.kind, values, scalar, 1);
  } else {
    result = reduce_floats<float>(reduction.kind, values, scalar, 1);
  }
  if (reduction.type == ncclFloat64) return bits_of(result);
  if (reduction.type == ncclFloat32) return bits_of(static_cast<float>(result));
  const bool selects = reduction.kind == ReduceKind::kMax || reduction.kind == ReduceKind::kMin;
  return small_format(reduction.type).nearest(result, selects);
}

inline std::uint64_t reduce_integer_bits(const Reduction& reduction,
                                         const std::vector<std::uint64_t>& inputs) {
  __extension__ using Wide = __int128;
  __extension__ using UnsignedWide = unsigned __int128;
  const unsigned width = static_cast<unsigned>(type_size(reduction.type)) * 8;
  const auto wrap = [&](Wide value) -> Wide {
    const Wide modulus = Wide{1} << width;
    Wide wrapped = ((value % modulus) + modulus) % modulus;
    if (is_signed_integer(reduction.type) && wrapped >= modulus / 2) wrapped -= modulus;
    return wrapped;
  };
  const auto multiply = [&](Wide left, Wide right) {
    return wrap(
        static_cast<Wide>(static_cast<UnsignedWide>(left) * static_cast<UnsignedWide>(right)));
  };
  const bool is_average = reduction.kind == ReduceKind::kAverage;
  const bool wraps = !is_average || width == 64;
  Wide result = 0;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    Wide value = wrap(static_cast<Wide>(inputs[input]));
    if (reduction.kind == ReduceKind::kPreMulSum) {
      value = multiply(value, wrap(static_cast<Wide>(reduction.scalar)));
    }
    if (input == 0) {
      result = value;
    } else if (reduction.kind == ReduceKind::kProd) {
      result = multiply(result, value);
    } else if (reduction.kind == ReduceKind::kMax) {
      result = std::max(result, value);
    } else if (reduction.kind == ReduceKind::kMin) {
      result = std::min(result, value);
    } else {
      result += value;
    }
    if (wraps) result = wrap(result);
  }
  if (is_average) result /= reduction.ranks;
  const auto bits = static_cast<std::uint64_t>(result);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

/// The bits of one element of the result from those of the inputs, in order.
inline std::uint64_t reduce(const Reduction& reduction, const std::vector<std::uint64_t>& inputs) {
  return is_float(reduction.type) ? reduce_float_bits(reduction, inputs)
                                  : reduce_integer_bits(reduction, inputs);
}

/// Whether `got` is as good as `wanted`: any NaN for a NaN, either zero for a maximum or minimum.
inline bool matches(const Reduction& reduction, std::uint64_t wanted, std::uint64_t got) {
  if (wanted == got) return true;
  if (!is_float(reduction.type)) return false;
  const double wanted_value = value_of(reduction.type, wanted);
  const double got_value = value_of(reduction.type, got);
  if (std::isnan(wanted_value)) return std::isnan(got_value);
  const bool selects = reduction.kind == ReduceKind::kMax || reduction.kind == ReduceKind::kMin;
  return selects && wanted_value == 0 && got_value == 0;
}

}  // namespace ripieno::oracle

// Layouts of the floating-point types, and the two conversions that the oracle needs: whole numbers
// that the type represents exactly, and back to double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ripieno::tool::perf {

/// Sign, exponent and fraction of a binary floating-point type held in a `WordType`.
template <typename WordType, int kExponentBits, int kFractionBitsValue,
          bool kHasInfinityValue = true>
struct FloatLayout {
  using Word = WordType;
  static constexpr int kBits = 8 * sizeof(Word);
  static constexpr int kFractionBits = kFractionBitsValue;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr bool kHasInfinity = kHasInfinityValue;
  static constexpr Word kSign = static_cast<Word>(Word{1} << (kBits - 1));
  /// All whole numbers up to here are exact.
  static constexpr std::int64_t kExactLimit = std::int64_t{1} << (kFractionBits + 1);

  /// Relative error of one rounding.
  static double roundoff() { return std::ldexp(1.0, -kFractionBits - 1); }
  static double smallest_normal() { return std::ldexp(1.0, 1 - kBias); }
  static double half_of_smallest() { return std::ldexp(1.0, -kBias - kFractionBits); }

  /// A whole number of at most kExactLimit.
  [[nodiscard]] static constexpr Word from_whole(std::int64_t value) noexcept {
    const Word sign = value < 0 ? kSign : Word{0};
    const auto magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
    if (magnitude == 0) return 0;
    const int exponent = std::bit_width(magnitude) - 1;
    const std::uint64_t aligned = exponent > kFractionBits
                                      ? magnitude >> (exponent - kFractionBits)
                                      : magnitude << (kFractionBits - exponent);
    const std::uint64_t fraction = aligned & ((std::uint64_t{1} << kFractionBits) - 1);
    const auto field = static_cast<std::uint64_t>(exponent + kBias) << kFractionBits;
    return static_cast<Word>(sign | field | fraction);
  }

  [[nodiscard]] static double to_double(Word word) noexcept {
    constexpr std::uint64_t kTopExponent = (std::uint64_t{1} << kExponentBits) - 1;
    constexpr std::uint64_t kFractionMask = (std::uint64_t{1} << kFractionBits) - 1;
    const std::uint64_t exponent =
        (static_cast<std::uint64_t>(word) >> kFractionBits) & kTopExponent;
    const std::uint64_t fraction = word & kFractionMask;
    double magnitude = 0;
    if (exponent == kTopExponent && (kHasInfinity || fraction == kFractionMask)) {
      magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                                : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
      magnitude = std::ldexp(static_cast<double>(fraction), 1 - kBias - kFractionBits);
    } else {
      magnitude = std::ldexp(static_cast<double>(fraction | (kFractionMask + 1)),
                             static_cast<int>(exponent) - kBias - kFractionBits);
    }
    return (word & kSign) != 0 ? -magnitude : magnitude;
  }
};

using Float16 = FloatLayout<std::uint16_t, 5, 10>;
using Bfloat16 = FloatLayout<std::uint16_t, 8, 7>;
using Float32 = FloatLayout<std::uint32_t, 8, 23>;
using Float64 = FloatLayout<std::uint64_t, 11, 52>;
using Float8e4m3 = FloatLayout<std::uint8_t, 4, 3, false>;
using Float8e5m2 = FloatLayout<std::uint8_t, 5, 2>;

}  // namespace ripieno::tool::perf

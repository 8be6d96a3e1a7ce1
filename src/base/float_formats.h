// Scalar conversions between float32 and the 16- and 8-bit floating types: float16, bfloat16,
// float8 e4m3 and e5m2. They are constexpr and independent of the processor; the vector code rounds
// the same way, so these are its tails' and tests' reference too.
//
// All roundings are to nearest, ties to even. A NaN stays a NaN (sign and leading payload bits
// kept). float16 and bfloat16 overflow to infinity. The 8-bit types saturate: whatever is too
// large, infinity included, becomes the largest finite value.
#pragma once

#include <bit>
#include <cstdint>

namespace ripieno {

/// One of the small formats as bits: sign, exponent, mantissa, from the top. `kLargest` is the
/// largest finite value, `kHasInfinity` tells whether the all-ones exponent stands for infinity and
/// NaN (or, in e4m3, for numbers too).
template <typename Bits_, int kExponentBits_, int kMantissaBits_, bool kHasInfinity_>
struct FloatFormat {
  using Bits = Bits_;
  static constexpr int kMantissaBits = kMantissaBits_;
  static constexpr int kBias = (1 << (kExponentBits_ - 1)) - 1;
  static constexpr bool kHasInfinity = kHasInfinity_;
  static constexpr std::uint32_t kSign = 1U << (kExponentBits_ + kMantissaBits_);
  static constexpr std::uint32_t kMagnitude = kSign - 1;
  static constexpr std::uint32_t kExponentMask = ((1U << kExponentBits_) - 1) << kMantissaBits_;
  static constexpr std::uint32_t kLargest = kHasInfinity ? kExponentMask - 1 : kMagnitude - 1;
  static constexpr std::uint32_t kQuietNan =
      kHasInfinity ? kExponentMask | (1U << (kMantissaBits_ - 1)) : kMagnitude;
};

using Float16Format = FloatFormat<std::uint16_t, 5, 10, true>;
using Bfloat16Format = FloatFormat<std::uint16_t, 8, 7, true>;
using Float8e4m3Format = FloatFormat<std::uint8_t, 4, 3, false>;
using Float8e5m2Format = FloatFormat<std::uint8_t, 5, 2, true>;

/// What becomes of a value above the largest finite one.
enum class Overflow : std::uint8_t {
  kInfinity,        ///< IEEE: rounds to infinity.
  kSaturate,        ///< The largest finite value, for infinity too.
  kSaturateFinite,  ///< The largest finite value; infinity itself stays where the format has one.
};

/// The value of `bits`, exactly.
template <typename Format>
constexpr float decode(typename Format::Bits bits) noexcept {
  const std::uint32_t sign = (bits & Format::kSign) != 0 ? 0x8000'0000U : 0U;
  const std::uint32_t magnitude = bits & Format::kMagnitude;
  constexpr int kShift = 23 - Format::kMantissaBits;
  const bool special =
      Format::kHasInfinity ? magnitude >= Format::kExponentMask : magnitude == Format::kQuietNan;
  if (special) {
    const std::uint32_t mantissa =
        Format::kHasInfinity ? (magnitude & ~Format::kExponentMask) << kShift : 0x40'0000U;
    return std::bit_cast<float>(sign | 0x7F80'0000U | mantissa);
  }
  if (magnitude >= (1U << Format::kMantissaBits)) {
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - Format::kBias) << 23;
    return std::bit_cast<float>(sign | ((magnitude << kShift) + kRebias));
  }
  if constexpr (Format::kBias == 127) {
    return std::bit_cast<float>(sign | (magnitude << kShift));
  } else {
    // The unit of a subnormal: 2 ^ (1 - bias - mantissa bits), a normal float32.
    constexpr float kUnit = std::bit_cast<float>(
        static_cast<std::uint32_t>(127 + 1 - Format::kBias - Format::kMantissaBits) << 23);
    const float value = static_cast<float>(magnitude) * kUnit;
    return sign != 0 ? -value : value;
  }
}

/// `value` rounded to nearest even.
template <typename Format>
constexpr typename Format::Bits encode(float value, Overflow overflow) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & 0x8000'0000U) != 0 ? Format::kSign : 0U;
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  constexpr int kShift = 23 - Format::kMantissaBits;
  constexpr int kExponentDistance = 127 - Format::kBias;

  std::uint32_t code = 0;
  if (magnitude > 0x7F80'0000U) {
    code = Format::kQuietNan | ((magnitude & 0x7F'FFFFU) >> kShift);
  } else if (magnitude == 0x7F80'0000U) {
    const bool infinite = Format::kHasInfinity && overflow != Overflow::kSaturate;
    code = infinite ? Format::kExponentMask : Format::kLargest;
  } else {
    // Drop `shift` bits of the mantissa (with its hidden bit), more of them below the smallest
    // normal value.
    const int exponent = static_cast<int>(magnitude >> 23) - kExponentDistance;
    const int below_normal = Format::kBias != 127 && exponent < 1 ? 1 - exponent : 0;
    const int shift = kShift + below_normal;
    if (shift <= 25) {
      const std::uint32_t significand =
          below_normal > 0 ? (magnitude & 0x7F'FFFFU) | 0x80'0000U
                           : magnitude - (static_cast<std::uint32_t>(kExponentDistance) << 23);
      const std::uint32_t odd = (significand >> shift) & 1U;
      code = (significand + ((1U << (shift - 1)) - 1) + odd) >> shift;
    }
    if (code > Format::kLargest) {
      code = overflow == Overflow::kInfinity ? Format::kExponentMask : Format::kLargest;
    }
  }
  return static_cast<typename Format::Bits>(sign | code);
}

constexpr float float16_to_float(std::uint16_t bits) noexcept {
  return decode<Float16Format>(bits);
}
constexpr float bfloat16_to_float(std::uint16_t bits) noexcept {
  return decode<Bfloat16Format>(bits);
}
constexpr float float8_e4m3_to_float(std::uint8_t bits) noexcept {
  return decode<Float8e4m3Format>(bits);
}
constexpr float float8_e5m2_to_float(std::uint8_t bits) noexcept {
  return decode<Float8e5m2Format>(bits);
}

constexpr std::uint16_t float_to_float16(float value) noexcept {
  return encode<Float16Format>(value, Overflow::kInfinity);
}
constexpr std::uint16_t float_to_bfloat16(float value) noexcept {
  return encode<Bfloat16Format>(value, Overflow::kInfinity);
}
constexpr std::uint8_t float_to_float8_e4m3(float value) noexcept {
  return encode<Float8e4m3Format>(value, Overflow::kSaturate);
}
constexpr std::uint8_t float_to_float8_e5m2(float value) noexcept {
  return encode<Float8e5m2Format>(value, Overflow::kSaturate);
}

}  // namespace ripieno

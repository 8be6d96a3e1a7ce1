// The small floating formats against the oracle's tables: every code of each, and every float32
// that is near a code or a boundary between two.
#include "base/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/reduce_oracle.h"

namespace ripieno {
namespace {

std::uint32_t encode_as(ncclDataType_t type, float value) {
  switch (type) {
    case ncclFloat16:
      return float_to_float16(value);
    case ncclBfloat16:
      return float_to_bfloat16(value);
    case ncclFloat8e4m3:
      return float_to_float8_e4m3(value);
    default:
      return float_to_float8_e5m2(value);
  }
}

float decode_as(ncclDataType_t type, std::uint32_t code) {
  switch (type) {
    case ncclFloat16:
      return float16_to_float(static_cast<std::uint16_t>(code));
    case ncclBfloat16:
      return bfloat16_to_float(static_cast<std::uint16_t>(code));
    case ncclFloat8e4m3:
      return float8_e4m3_to_float(static_cast<std::uint8_t>(code));
    default:
      return float8_e5m2_to_float(static_cast<std::uint8_t>(code));
  }
}

class FloatFormats : public testing::TestWithParam<ncclDataType_t> {
 protected:
  const oracle::SmallFormat& format() const { return oracle::small_format(GetParam()); }

  void expect_nearest(float value) const {
    const std::uint32_t got = encode_as(GetParam(), value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(format().value(got)));
    } else {
      EXPECT_EQ(got, format().nearest(value)) << std::hexfloat << value;
    }
  }
};

TEST_P(FloatFormats, DecodesAndEncodesEveryCode) {
  for (std::uint32_t code = 0; code < 2 * format().sign_bit(); ++code) {
    const double wanted = format().value(code);
    const float got = decode_as(GetParam(), code);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(got));
      EXPECT_TRUE(std::isnan(format().value(encode_as(GetParam(), got))));
      continue;
    }
    EXPECT_EQ(got, static_cast<float>(wanted)) << code;
    EXPECT_EQ(std::signbit(got), std::signbit(wanted)) << code;
    const bool saturates = std::isinf(wanted) && type_size(GetParam()) == 1;
    EXPECT_EQ(encode_as(GetParam(), got), saturates ? code - 1 : code);
  }
}

TEST_P(FloatFormats, RoundsToNearestEvenAroundEveryBoundary) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (std::uint32_t code = 0; code <= format().largest_code(); ++code) {
    const double step = code == format().largest_code()
                            ? format().value(code) - format().value(code - 1)
                            : format().value(code + 1) - format().value(code);
    const auto middle = static_cast<float>(format().value(code) + step / 2);
    for (const float value :
         {middle, std::nextafter(middle, kInfinity), std::nextafter(middle, 0.0F)}) {
      expect_nearest(value);
      expect_nearest(-value);
    }
  }
}

TEST_P(FloatFormats, RoundsAnyFloat) {
  std::mt19937 random(7);
  for (int round = 0; round < 1'000'000; ++round) {
    expect_nearest(oracle::bits_as<float>(random()));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FloatFormats,
                         testing::Values(ncclFloat16, ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2),
                         [](const auto& format) { return std::string(type_name(format.param)); });

static_assert(float_to_float16(65520.0F) == 0x7C00,
              "half a unit above the largest value is infinite");
static_assert(float_to_float8_e4m3(1e9F) == 0x7E, "float8 saturates");
static_assert(float8_e5m2_to_float(0x01) == 0x1p-16F, "a subnormal value");

}  // namespace
}  // namespace ripieno

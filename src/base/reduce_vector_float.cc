// Vector kernels of the floating types. float16 goes through the processor's conversions, bfloat16
// through shifts, and the 8-bit types through float16 (exact) on the way in and integer rounding on
// the way out.
#include "base/reduce_targets.h"

#if RIPIENO_VECTOR_REDUCTIONS

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/reduce_vector_float.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base/float_formats.h"
#include "base/reduce_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ripieno::reduction::HWY_NAMESPACE {
namespace {

using Floats = hn::VFromD<Full<float>>;
using Words = hn::VFromD<Full<std::uint32_t>>;

/// The sum divided by the number of ranks; the accumulator is wide enough for any sum.
class Average : public Sum {
 public:
  explicit Average(const Operands& operands) : Sum(operands), divisor_(operands.divisor) {}

  template <class V>
  HWY_INLINE V finish(V sum) const {
    return hn::Div(sum, hn::Set(hn::DFromV<V>(), static_cast<hn::TFromV<V>>(divisor_)));
  }

 private:
  double divisor_;
};

/// For bfloat16, whose range is the accumulator's: adds values scaled by a power of two, which
/// loses no bit of them.
class ScaledAverage {
 public:
  explicit ScaledAverage(const Operands& operands)
      : scale_(static_cast<float>(operands.scale)),
        divisor_(static_cast<float>(operands.divisor * operands.scale)) {}

  HWY_INLINE Floats first(Floats value) const {
    return hn::Mul(value, hn::Set(Full<float>(), scale_));
  }
  HWY_INLINE Floats next(Floats sum, Floats value) const { return hn::Add(sum, first(value)); }
  HWY_INLINE Floats finish(Floats sum) const {
    return hn::Div(sum, hn::Set(Full<float>(), divisor_));
  }

 private:
  float scale_;
  float divisor_;
};

struct Float32InFloat64 {
  using Element = float;
  using Accumulator = double;
  using Vector = hn::VFromD<Full<double>>;
  using Narrow = hn::Rebind<float, Full<double>>;

  static HWY_INLINE Vector load(const std::byte* from, std::size_t lane) {
    const auto* at = reinterpret_cast<const float*>(from) + lane;
    return hn::PromoteTo(Full<double>(), hn::LoadU(Narrow(), at));
  }
  static HWY_INLINE void store(std::byte* to, Vector a, Vector b, Vector c, Vector d, Store store) {
    const Narrow narrow;
    store_halves<float>(to, hn::DemoteTo(narrow, a), hn::DemoteTo(narrow, b),
                        hn::DemoteTo(narrow, c), hn::DemoteTo(narrow, d), store);
  }
};

struct Float16 {
  using Element = std::uint16_t;
  using Accumulator = float;
  using Narrow = hn::Rebind<hwy::float16_t, Full<float>>;
  using NarrowBits = hn::Rebind<std::uint16_t, Full<float>>;

  static HWY_INLINE Floats load(const std::byte* from, std::size_t lane) {
    const auto bits = hn::LoadU(NarrowBits(), reinterpret_cast<const std::uint16_t*>(from) + lane);
    return hn::PromoteTo(Full<float>(), hn::BitCast(Narrow(), bits));
  }
  static HWY_INLINE auto narrow(Floats value) {
    return hn::BitCast(NarrowBits(), hn::DemoteTo(Narrow(), value));
  }
  static HWY_INLINE void store(std::byte* to, Floats a, Floats b, Floats c, Floats d, Store store) {
    store_halves<std::uint16_t>(to, narrow(a), narrow(b), narrow(c), narrow(d), store);
  }
};

struct Bfloat16 {
  using Element = std::uint16_t;
  using Accumulator = float;
  using NarrowBits = hn::Rebind<std::uint16_t, Full<float>>;

  static HWY_INLINE Floats load(const std::byte* from, std::size_t lane) {
    const Full<std::uint32_t> words;
    const auto bits = hn::LoadU(NarrowBits(), reinterpret_cast<const std::uint16_t*>(from) + lane);
    return hn::BitCast(Full<float>(), hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
  }
  /// To nearest even by adding just under half a unit; a NaN must not carry into the exponent.
  static HWY_INLINE auto narrow(Floats value) {
    const Full<std::uint32_t> words;
    const Words bits = hn::BitCast(words, value);
    const Words odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    const Words rounded = hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7FFF)));
    const Words quiet = hn::Or(bits, hn::Set(words, 0x40'0000));
    const auto is_nan = hn::RebindMask(words, hn::IsNaN(value));
    const Words code = hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
    return hn::DemoteTo(NarrowBits(), hn::BitCast(Full<std::int32_t>(), code));
  }
  static HWY_INLINE void store(std::byte* to, Floats a, Floats b, Floats c, Floats d, Store store) {
    store_halves<std::uint16_t>(to, narrow(a), narrow(b), narrow(c), narrow(d), store);
  }
};

template <typename Format, Overflow kOverflow>
struct Float8 {
  using Element = std::uint8_t;
  using Accumulator = float;
  using NarrowBits = hn::Rebind<std::uint8_t, Full<float>>;
  using HalfBits = hn::Rebind<std::uint16_t, Full<float>>;
  using HalfFloats = hn::Rebind<hwy::float16_t, Full<float>>;

  /// Moved to float16's place for exponent and mantissa, a value is off by a power of two at most.
  static HWY_INLINE Floats load(const std::byte* from, std::size_t lane) {
    const HalfBits half;
    const Full<float> floats;
    const auto narrow = hn::LoadU(NarrowBits(), reinterpret_cast<const std::uint8_t*>(from) + lane);
    const auto bits = hn::PromoteTo(half, narrow);
    if constexpr (Format::kMantissaBits == 2) {
      return hn::PromoteTo(floats, hn::BitCast(HalfFloats(), hn::ShiftLeft<8>(bits)));
    } else {
      const auto sign = hn::ShiftLeft<8>(hn::And(bits, hn::Set(half, 0x80)));
      const auto magnitude = hn::ShiftLeft<7>(hn::And(bits, hn::Set(half, 0x7F)));
      const auto scaled = hn::PromoteTo(floats, hn::BitCast(HalfFloats(), hn::Or(sign, magnitude)));
      const Floats value = hn::Mul(scaled, hn::Set(floats, 256.0F));
      // The all-ones code would be 480.
      const auto is_nan = hn::Gt(hn::Abs(value), hn::Set(floats, 448.0F));
      return hn::IfThenElse(is_nan, hn::NaN(floats), value);
    }
  }

  /// Normal values round like bfloat16 does; below them, adding 2 ^ 23 units leaves the count of
  /// units in the mantissa.
  static HWY_INLINE auto narrow(Floats value) {
    constexpr int kShift = 23 - Format::kMantissaBits;
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - Format::kBias) << 23;
    constexpr float kLargest = decode<Format>(Format::kLargest);
    constexpr float kSmallestNormal = decode<Format>(1U << Format::kMantissaBits);
    constexpr float kUnits = decode<Format>(1) * 0x1p23F;
    const Full<float> floats;
    const Full<std::uint32_t> words;

    const Floats magnitude = hn::Abs(value);
    const Floats clamped = hn::Min(magnitude, hn::Set(floats, kLargest));
    const Words bits = hn::Sub(hn::BitCast(words, clamped), hn::Set(words, kRebias));
    const Words odd = hn::And(hn::ShiftRight<kShift>(bits), hn::Set(words, 1));
    const Words half = hn::Set(words, (1U << (kShift - 1)) - 1);
    const Words normal = hn::ShiftRight<kShift>(hn::Add(bits, hn::Add(odd, half)));

    const Floats counted = hn::Add(clamped, hn::Set(floats, kUnits));
    const Words subnormal =
        hn::Sub(hn::BitCast(words, counted), hn::BitCast(words, hn::Set(floats, kUnits)));
    const auto is_subnormal =
        hn::RebindMask(words, hn::Lt(clamped, hn::Set(floats, kSmallestNormal)));

    const Words raw = hn::BitCast(words, value);
    const Words payload =
        hn::And(hn::ShiftRight<kShift>(raw), hn::Set(words, (1U << Format::kMantissaBits) - 1));
    const Words nan = hn::Or(payload, hn::Set(words, Format::kQuietNan));
    const auto is_nan = hn::RebindMask(words, hn::IsNaN(value));

    Words code = hn::IfThenElse(is_subnormal, subnormal, normal);
    if constexpr (Format::kHasInfinity && kOverflow == Overflow::kSaturateFinite) {
      const auto is_infinite = hn::RebindMask(words, hn::Eq(magnitude, hn::Inf(floats)));
      code = hn::IfThenElse(is_infinite, hn::Set(words, Format::kExponentMask), code);
    }
    code = hn::IfThenElse(is_nan, nan, code);
    const Words sign = hn::And(hn::ShiftRight<24>(raw), hn::Set(words, Format::kSign));
    const auto signed_code = hn::BitCast(Full<std::int32_t>(), hn::Or(code, sign));
    return hn::DemoteTo(NarrowBits(), signed_code);
  }
  static HWY_INLINE void store(std::byte* to, Floats a, Floats b, Floats c, Floats d, Store store) {
    store_quarters<std::uint8_t>(to, narrow(a), narrow(b), narrow(c), narrow(d), store);
  }
};

template <class Type, class ExtremeType = Type>
void fill_all_but_average(KernelTable& table, ncclDataType_t type) {
  set<Type, Sum>(table, type, ReduceKind::kSum);
  set<Type, Product>(table, type, ReduceKind::kProd);
  set<ExtremeType, Extreme<true>>(table, type, ReduceKind::kMax);
  set<ExtremeType, Extreme<false>>(table, type, ReduceKind::kMin);
  set<Type, PreMultipliedSum>(table, type, ReduceKind::kPreMulSum);
}

void stream_copy_vectors(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const Full<std::uint8_t> tag;
  const std::size_t step = 4 * hn::Lanes(tag);
  for (std::size_t done = 0; done < bytes; done += step) {
    using Bytes = Plain<std::uint8_t>;
    const std::byte* at = from + done;
    Bytes::store(to + done, Bytes::load(at, 0), Bytes::load(at, step / 4),
                 Bytes::load(at, step / 2), Bytes::load(at, step / 4 * 3), Store::kStreaming);
  }
}

}  // namespace

void fill_float_kernels(KernelTable& table) noexcept {
  using Float8e4m3 = Float8<Float8e4m3Format, Overflow::kSaturate>;
  using Float8e5m2 = Float8<Float8e5m2Format, Overflow::kSaturate>;
  using Float8e5m2Extreme = Float8<Float8e5m2Format, Overflow::kSaturateFinite>;

  fill_all_but_average<Plain<float>>(table, ncclFloat32);
  fill_all_but_average<Plain<double>>(table, ncclFloat64);
  fill_all_but_average<Float16>(table, ncclFloat16);
  fill_all_but_average<Bfloat16>(table, ncclBfloat16);
  fill_all_but_average<Float8e4m3>(table, ncclFloat8e4m3);
  fill_all_but_average<Float8e5m2, Float8e5m2Extreme>(table, ncclFloat8e5m2);

  set<Float32InFloat64, Average>(table, ncclFloat32, ReduceKind::kAverage);
  set<Float16, Average>(table, ncclFloat16, ReduceKind::kAverage);
  set<Bfloat16, ScaledAverage>(table, ncclBfloat16, ReduceKind::kAverage);
  set<Float8e4m3, Average>(table, ncclFloat8e4m3, ReduceKind::kAverage);
  set<Float8e5m2, Average>(table, ncclFloat8e5m2, ReduceKind::kAverage);

  table.stream_copy = stream_copy_vectors;
}

}  // namespace ripieno::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RIPIENO_VECTOR_REDUCTIONS

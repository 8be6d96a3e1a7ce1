// Vector kernels of the integer types. Sums and products wrap, so signed types share the unsigned
// kernels; averages of 8- and 32-bit integers add up in a wider type and divide in a floating type
// that holds every sum exactly. Averages of 64-bit integers stay with the portable kernels: there
// is no vector division for them.
#include "base/reduce_targets.h"

#if RIPIENO_VECTOR_REDUCTIONS

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/reduce_vector_integer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base/reduce_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ripieno::reduction::HWY_NAMESPACE {
namespace {

/// 8-bit products need 16 bits, of which only the low ones are wanted.
struct Uint8InUint16 {
  using Element = std::uint8_t;
  using Accumulator = std::uint16_t;
  using Vector = hn::VFromD<Full<std::uint16_t>>;
  using Narrow = hn::Rebind<std::uint8_t, Full<std::uint16_t>>;

  static HWY_INLINE Vector load(const std::byte* from, std::size_t lane) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(from) + lane;
    return hn::PromoteTo(Full<std::uint16_t>(), hn::LoadU(Narrow(), at));
  }
  static HWY_INLINE auto narrow(Vector value) {
    const Vector low = hn::And(value, hn::Set(Full<std::uint16_t>(), 0xFF));
    return hn::DemoteTo(Narrow(), hn::BitCast(Full<std::int16_t>(), low));
  }
  static HWY_INLINE void store(std::byte* to, Vector a, Vector b, Vector c, Vector d, Store store) {
    store_halves<std::uint8_t>(to, narrow(a), narrow(b), narrow(c), narrow(d), store);
  }
};

template <typename T>
struct ByteInInt32 {
  using Element = T;
  using Accumulator = std::int32_t;
  using Vector = hn::VFromD<Full<std::int32_t>>;
  using Narrow = hn::Rebind<T, Full<std::int32_t>>;

  static HWY_INLINE Vector load(const std::byte* from, std::size_t lane) {
    const auto* at = reinterpret_cast<const T*>(from) + lane;
    return hn::PromoteTo(Full<std::int32_t>(), hn::LoadU(Narrow(), at));
  }
  static HWY_INLINE void store(std::byte* to, Vector a, Vector b, Vector c, Vector d, Store store) {
    const Narrow narrow;
    store_quarters<T>(to, hn::DemoteTo(narrow, a), hn::DemoteTo(narrow, b), hn::DemoteTo(narrow, c),
                      hn::DemoteTo(narrow, d), store);
  }
};

/// int32 and uint32 in float64, exact for up to 2 ^ 21 inputs. uint32 is moved by 2 ^ 31, since
/// only signed integers convert.
template <typename T>
struct Int32InFloat64 {
  using Element = T;
  using Accumulator = double;
  using Vector = hn::VFromD<Full<double>>;
  using Narrow = hn::Rebind<std::int32_t, Full<double>>;
  static constexpr bool kUnsigned = std::is_unsigned_v<T>;

  static HWY_INLINE Vector load(const std::byte* from, std::size_t lane) {
    const Full<double> doubles;
    const Narrow narrow;
    auto bits = hn::LoadU(narrow, reinterpret_cast<const std::int32_t*>(from) + lane);
    if constexpr (kUnsigned) bits = hn::Xor(bits, hn::Set(narrow, INT32_MIN));
    const Vector value = hn::PromoteTo(doubles, bits);
    return kUnsigned ? hn::Add(value, hn::Set(doubles, 0x1p31)) : value;
  }
  static HWY_INLINE auto narrow(Vector value) {
    const Narrow narrow;
    if constexpr (kUnsigned) {
      const Vector moved = hn::Sub(hn::Floor(value), hn::Set(Full<double>(), 0x1p31));
      return hn::Xor(hn::DemoteTo(narrow, moved), hn::Set(narrow, INT32_MIN));
    } else {
      return hn::DemoteTo(narrow, value);
    }
  }
  static HWY_INLINE void store(std::byte* to, Vector a, Vector b, Vector c, Vector d, Store store) {
    store_halves<std::int32_t>(to, narrow(a), narrow(b), narrow(c), narrow(d), store);
  }
};

/// Divides as float32 or float64 and truncates. That is exact: a sum is so much smaller than 2 ^ 24
/// (2 ^ 53) that a quotient below an integer cannot round up to it.
class TruncatedAverage : public Sum {
 public:
  explicit TruncatedAverage(const Operands& operands) : Sum(operands), divisor_(operands.divisor) {}

  HWY_INLINE auto finish(hn::VFromD<Full<std::int32_t>> sum) const {
    const Full<float> floats;
    const auto quotient =
        hn::Div(hn::ConvertTo(floats, sum), hn::Set(floats, static_cast<float>(divisor_)));
    return hn::ConvertTo(Full<std::int32_t>(), quotient);
  }
  HWY_INLINE auto finish(hn::VFromD<Full<double>> sum) const {
    return hn::Div(sum, hn::Set(Full<double>(), divisor_));
  }

 private:
  double divisor_;
};

template <typename T>
void fill_extremes(KernelTable& table, ncclDataType_t type) {
  set<Plain<T>, Extreme<true>>(table, type, ReduceKind::kMax);
  set<Plain<T>, Extreme<false>>(table, type, ReduceKind::kMin);
}

/// The wrapping operations of a signed type and its unsigned twin.
template <typename T, class ProductType>
void fill_wrapping(KernelTable& table, ncclDataType_t signed_type, ncclDataType_t unsigned_type) {
  for (const ncclDataType_t type : {signed_type, unsigned_type}) {
    set<Plain<T>, Sum>(table, type, ReduceKind::kSum);
    set<ProductType, Product>(table, type, ReduceKind::kProd);
    set<ProductType, PreMultipliedSum>(table, type, ReduceKind::kPreMulSum);
  }
}

}  // namespace

void fill_integer_kernels(KernelTable& table) noexcept {
  fill_wrapping<std::uint8_t, Uint8InUint16>(table, ncclInt8, ncclUint8);
  fill_wrapping<std::uint32_t, Plain<std::uint32_t>>(table, ncclInt32, ncclUint32);
  fill_wrapping<std::uint64_t, Plain<std::uint64_t>>(table, ncclInt64, ncclUint64);

  fill_extremes<std::int8_t>(table, ncclInt8);
  fill_extremes<std::uint8_t>(table, ncclUint8);
  fill_extremes<std::int32_t>(table, ncclInt32);
  fill_extremes<std::uint32_t>(table, ncclUint32);
  fill_extremes<std::int64_t>(table, ncclInt64);
  fill_extremes<std::uint64_t>(table, ncclUint64);

  set<ByteInInt32<std::int8_t>, TruncatedAverage>(table, ncclInt8, ReduceKind::kAverage);
  set<ByteInInt32<std::uint8_t>, TruncatedAverage>(table, ncclUint8, ReduceKind::kAverage);
  set<Int32InFloat64<std::int32_t>, TruncatedAverage>(table, ncclInt32, ReduceKind::kAverage);
  set<Int32InFloat64<std::uint32_t>, TruncatedAverage>(table, ncclUint32, ReduceKind::kAverage);
}

}  // namespace ripieno::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RIPIENO_VECTOR_REDUCTIONS

// Types and operators as kernels compute them, with the meaning of base/reduce.h: 16- and 8-bit
// floats accumulate in float32 and round once, averages of float32 in float64, integers wrap,
// maximum and minimum pass over a NaN.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <nccl.h>

#include <cstdint>
#include <type_traits>

namespace ripieno::coll::gpu {

// ---- Types: what lies in memory, and what is computed with ----

template <typename T, typename Wide = T>
struct Number {
  using Raw = T;
  using Value = Wide;
  __device__ static Value widen(Raw raw) { return static_cast<Value>(raw); }
  __device__ static Raw narrow(Value value) { return static_cast<Raw>(value); }
};

struct Half {
  using Raw = std::uint16_t;
  using Value = float;
  __device__ static float widen(Raw raw) { return __half2float(__ushort_as_half(raw)); }
  __device__ static Raw narrow(float value) { return __half_as_ushort(__float2half_rn(value)); }
};

struct Brain {
  using Raw = std::uint16_t;
  using Value = float;
  __device__ static float widen(Raw raw) {
    return __uint_as_float(static_cast<std::uint32_t>(raw) << 16);
  }
  __device__ static Raw narrow(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
};

/// Sums saturate; of a maximum, which is one of the inputs, infinity stays what it is.
template <__nv_fp8_interpretation_t kFormat, __nv_saturation_t kOverflow>
struct Float8 {
  using Raw = std::uint8_t;
  using Value = float;
  __device__ static float widen(Raw raw) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(raw, kFormat)));
  }
  __device__ static Raw narrow(float value) {
    return __nv_cvt_float_to_fp8(value, kOverflow, kFormat);
  }
};

// ---- Operators: how the first input, a further one, and the end are treated ----

struct Terms {
  int ranks;
};

template <typename T>
__device__ T wrapping_add(T left, T right) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
  } else {
    return left + right;
  }
}

template <typename T>
__device__ T wrapping_multiply(T left, T right) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right));
  } else {
    return left * right;
  }
}

/// An accumulator per element; most operators need one value, and all results are narrowed once.
template <typename Type_>
struct Plain {
  using Type = Type_;
  using Raw = typename Type::Raw;
  using Value = typename Type::Value;
  using Sum = Value;
  static constexpr bool kScaled = false;
  __device__ static Sum first(Value value, Value) { return value; }
  __device__ static Raw finish(Sum sum, const Terms&) { return Type::narrow(sum); }
};

template <typename Type>
struct Add : Plain<Type> {
  using Value = typename Type::Value;
  __device__ static Value next(Value sum, Value value, Value) { return wrapping_add(sum, value); }
};

template <typename Type>
struct Multiply : Plain<Type> {
  using Value = typename Type::Value;
  __device__ static Value next(Value product, Value value, Value) {
    return wrapping_multiply(product, value);
  }
};

template <typename Type, bool kMaximum>
struct Extreme : Plain<Type> {
  using Value = typename Type::Value;
  __device__ static Value next(Value best, Value value, Value) {
    if constexpr (std::is_floating_point_v<Value>) {
      if (best != best) return value;
    }
    const bool better = kMaximum ? value > best : value < best;
    return better ? value : best;
  }
};

template <typename Type>
struct ScaleAndAdd : Plain<Type> {
  using Value = typename Type::Value;
  static constexpr bool kScaled = true;
  __device__ static Value first(Value value, Value factor) {
    return wrapping_multiply(value, factor);
  }
  __device__ static Value next(Value sum, Value value, Value factor) {
    return wrapping_add(sum, wrapping_multiply(value, factor));
  }
};

/// The accumulator is wide enough for the sum.
template <typename Type>
struct Average : Add<Type> {
  using Value = typename Type::Value;
  using Raw = typename Type::Raw;
  __device__ static Raw finish(Value sum, const Terms& terms) {
    return Type::narrow(sum / static_cast<Value>(terms.ranks));
  }
};

/// The accumulator has the range of the type itself: a second sum of scaled values (2^-7 is less
/// than one over the most ranks) says the average where the plain sum leaves the range.
template <typename Type_>
struct WideAverage {
  using Type = Type_;
  using Raw = typename Type::Raw;
  using Value = typename Type::Value;
  static constexpr bool kScaled = false;
  static constexpr Value kScale = static_cast<Value>(0.0078125);
  struct Sum {
    Value plain;
    Value scaled;
  };
  __device__ static Sum first(Value value, Value) { return {value, value * kScale}; }
  __device__ static Sum next(Sum sum, Value value, Value) {
    return {sum.plain + value, sum.scaled + value * kScale};
  }
  __device__ static Raw finish(Sum sum, const Terms& terms) {
    const Value divisor = static_cast<Value>(terms.ranks);
    const bool left_range = isinf(sum.plain) || isnan(sum.plain);
    return Type::narrow(left_range ? sum.scaled / (divisor * kScale) : sum.plain / divisor);
  }
};

// ---- Which accumulators a type of NCCL has ----

template <ncclDataType_t kType>
struct Types;

template <typename Single, typename Sum, template <typename> typename Averaging = Average>
struct Kinds {
  using Arithmetic = Single;
  using Extremes = Single;
  using Mean = Averaging<Sum>;
};

template <>
struct Types<ncclInt8> : Kinds<Number<std::int8_t>, Number<std::int8_t>> {};
template <>
struct Types<ncclUint8> : Kinds<Number<std::uint8_t>, Number<std::uint8_t>> {};
template <>
struct Types<ncclInt32> : Kinds<Number<std::int32_t>, Number<std::int32_t>> {};
template <>
struct Types<ncclUint32> : Kinds<Number<std::uint32_t>, Number<std::uint32_t>> {};
template <>
struct Types<ncclInt64> : Kinds<Number<std::int64_t>, Number<std::int64_t>> {};
template <>
struct Types<ncclUint64> : Kinds<Number<std::uint64_t>, Number<std::uint64_t>> {};
template <>
struct Types<ncclFloat16> : Kinds<Half, Half> {};
template <>
struct Types<ncclBfloat16> : Kinds<Brain, Brain, WideAverage> {};
template <>
struct Types<ncclFloat32> : Kinds<Number<float>, Number<float, double>> {};
template <>
struct Types<ncclFloat64> : Kinds<Number<double>, Number<double>, WideAverage> {};
template <>
struct Types<ncclFloat8e4m3>
    : Kinds<Float8<__NV_E4M3, __NV_SATFINITE>, Float8<__NV_E4M3, __NV_SATFINITE>> {};
template <>
struct Types<ncclFloat8e5m2>
    : Kinds<Float8<__NV_E5M2, __NV_SATFINITE>, Float8<__NV_E5M2, __NV_SATFINITE>> {
  using Extremes = Float8<__NV_E5M2, __NV_NOSAT>;
};

/// The factor of kPreMulSum, one value of the type in the low bytes.
template <typename Type>
__device__ typename Type::Value factor_of(std::uint64_t bits) {
  using Raw = typename Type::Raw;
  Raw raw;
  memcpy(&raw, &bits, sizeof raw);
  return Type::widen(raw);
}

}  // namespace ripieno::coll::gpu

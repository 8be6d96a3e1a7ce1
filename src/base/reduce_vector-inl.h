// What the vector kernels of all types share, compiled once for each Highway target: the loop over
// blocks and inputs, and the operations on accumulators. A block is four vectors of accumulators,
// which stay in registers over all inputs; a `Type` (reduce_vector_float.cc,
// reduce_vector_integer.cc) tells how its elements become accumulators and back.

// Included again for every target: Highway's toggle stands for the include guard.
#if defined(RIPIENO_REDUCE_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RIPIENO_REDUCE_VECTOR_INL_H
#undef RIPIENO_REDUCE_VECTOR_INL_H
#else
#define RIPIENO_REDUCE_VECTOR_INL_H
#endif

#include <hwy/highway.h>

#include "base/reduce_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace ripieno::reduction::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Full = hn::ScalableTag<T>;

/// Stores one whole vector, past the caches where asked and the address allows it.
template <typename T>
HWY_INLINE void store_vector(std::byte* to, hn::VFromD<Full<T>> value, Store store) {
  const Full<T> tag;
  T* lanes = reinterpret_cast<T*>(to);
  const bool aligned = reinterpret_cast<std::uintptr_t>(to) % (sizeof(T) * hn::Lanes(tag)) == 0;
  if (store == Store::kStreaming && aligned) {
    hn::Stream(value, tag, lanes);
  } else {
    hn::StoreU(value, tag, lanes);
  }
}

/// Elements that are their own accumulators.
template <typename T>
struct Plain {
  using Element = T;
  using Accumulator = T;
  using Vector = hn::VFromD<Full<T>>;

  static HWY_INLINE Vector load(const std::byte* from, std::size_t lane) {
    return hn::LoadU(Full<T>(), reinterpret_cast<const T*>(from) + lane);
  }
  static HWY_INLINE void store(std::byte* to, Vector a, Vector b, Vector c, Vector d, Store store) {
    const std::size_t bytes = hn::Lanes(Full<T>()) * sizeof(T);
    store_vector<T>(to, a, store);
    store_vector<T>(to + bytes, b, store);
    store_vector<T>(to + 2 * bytes, c, store);
    store_vector<T>(to + 3 * bytes, d, store);
  }
};

/// Four vectors narrowed to half their width make two whole ones, narrowed to a quarter they make
/// one.
template <typename T, class Half>
HWY_INLINE void store_halves(std::byte* to, Half a, Half b, Half c, Half d, Store store) {
  const Full<T> tag;
  store_vector<T>(to, hn::Combine(tag, b, a), store);
  store_vector<T>(to + hn::Lanes(tag) * sizeof(T), hn::Combine(tag, d, c), store);
}

template <typename T, class Quarter>
HWY_INLINE void store_quarters(std::byte* to, Quarter a, Quarter b, Quarter c, Quarter d,
                               Store store) {
  const Full<T> tag;
  const hn::Half<Full<T>> half;
  store_vector<T>(to, hn::Combine(tag, hn::Combine(half, d, c), hn::Combine(half, b, a)), store);
}

struct Keep {
  explicit Keep(const Operands&) {}
  template <class V>
  HWY_INLINE V first(V value) const {
    return value;
  }
  template <class V>
  HWY_INLINE V finish(V value) const {
    return value;
  }
};

struct Sum : Keep {
  using Keep::Keep;
  template <class V>
  HWY_INLINE V next(V sum, V value) const {
    return hn::Add(sum, value);
  }
};

struct Product : Keep {
  using Keep::Keep;
  template <class V>
  HWY_INLINE V next(V product, V value) const {
    return hn::Mul(product, value);
  }
};

/// The larger or the smaller; a NaN only where all inputs are.
template <bool kMaximum>
struct Extreme : Keep {
  using Keep::Keep;
  template <class V>
  HWY_INLINE V next(V best, V value) const {
    const V result = kMaximum ? hn::Max(best, value) : hn::Min(best, value);
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      const V no_value_nan = hn::IfThenElse(hn::IsNaN(value), best, result);
      return hn::IfThenElse(hn::IsNaN(best), value, no_value_nan);
    } else {
      return result;
    }
  }
};

class PreMultipliedSum {
 public:
  explicit PreMultipliedSum(const Operands& operands) : operands_(operands) {}

  template <class V>
  HWY_INLINE V first(V value) const {
    using T = hn::TFromV<V>;
    const T scalar = hwy::IsFloat<T>() ? static_cast<T>(operands_.scalar)
                                       : static_cast<T>(operands_.scalar_bits);
    return hn::Mul(value, hn::Set(hn::DFromV<V>(), scalar));
  }
  template <class V>
  HWY_INLINE V next(V sum, V value) const {
    return hn::Add(sum, first(value));
  }
  template <class V>
  HWY_INLINE V finish(V sum) const {
    return sum;
  }

 private:
  Operands operands_;
};

template <class Type, class Operation>
void run(const Pass& pass) noexcept {
  using Accumulator = typename Type::Accumulator;
  constexpr std::size_t kElement = sizeof(typename Type::Element);
  const Full<Accumulator> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const Operation operation(*pass.operands);
  const std::size_t first_input = pass.seed == nullptr ? 1 : 0;

  for (std::size_t done = 0; done < pass.count; done += 4 * lanes) {
    const std::size_t offset = (pass.begin + done) * kElement;
    auto a = hn::Zero(tag);
    auto b = a;
    auto c = a;
    auto d = a;
    if (pass.seed == nullptr) {
      const std::byte* from = pass.inputs[0] + offset;
      a = operation.first(Type::load(from, 0));
      b = operation.first(Type::load(from, lanes));
      c = operation.first(Type::load(from, 2 * lanes));
      d = operation.first(Type::load(from, 3 * lanes));
    } else {
      const Accumulator* seed = reinterpret_cast<const Accumulator*>(pass.seed) + done;
      a = hn::LoadU(tag, seed);
      b = hn::LoadU(tag, seed + lanes);
      c = hn::LoadU(tag, seed + 2 * lanes);
      d = hn::LoadU(tag, seed + 3 * lanes);
    }
    for (std::size_t input = first_input; input < pass.input_count; ++input) {
      const std::byte* from = pass.inputs[input] + offset;
      a = operation.next(a, Type::load(from, 0));
      b = operation.next(b, Type::load(from, lanes));
      c = operation.next(c, Type::load(from, 2 * lanes));
      d = operation.next(d, Type::load(from, 3 * lanes));
    }
    if (pass.keep != nullptr) {
      Accumulator* keep = reinterpret_cast<Accumulator*>(pass.keep) + done;
      hn::StoreU(a, tag, keep);
      hn::StoreU(b, tag, keep + lanes);
      hn::StoreU(c, tag, keep + 2 * lanes);
      hn::StoreU(d, tag, keep + 3 * lanes);
      continue;
    }
    a = operation.finish(a);
    b = operation.finish(b);
    c = operation.finish(c);
    d = operation.finish(d);
    for (std::size_t output = 0; output < pass.output_count; ++output) {
      Type::store(pass.outputs[output] + offset, a, b, c, d, pass.store);
    }
  }
}

template <class Type, class Operation>
Kernel kernel() {
  const std::size_t lanes = hn::Lanes(Full<typename Type::Accumulator>());
  return {run<Type, Operation>, static_cast<std::uint16_t>(4 * lanes), true};
}

template <class Type, class Operation>
void set(KernelTable& table, ncclDataType_t type, ReduceKind kind) {
  table.kernels[type][static_cast<std::size_t>(kind)] = kernel<Type, Operation>();
}

}  // namespace ripieno::reduction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

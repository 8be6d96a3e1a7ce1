// One recipe a kind of arithmetic: how an input value comes out of a hash, and how values combine.
// A recipe computes in codes, integers in which the reduction is exact and cheap: the numbers
// themselves, exponents for products, or bits in an order that compares like the value. Words are
// the bits that lie in memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "perf/float_layout.h"
#include "perf/random_index.h"
#include "perf/types.h"

namespace ripieno::tool::perf {

/// Everything about a rank that the inner loops need; `key` differs between ranks and seeds.
struct RankKey {
  std::uint64_t key;
  std::uint64_t shared;  ///< The same on all ranks.
  std::uint32_t rank;
};

/// A hash as wide as the word.
template <typename Word>
[[nodiscard]] constexpr Word random_word(const RankKey& rank, std::uint32_t index) noexcept {
  if constexpr (sizeof(Word) == 8) {
    return hash64(rank.key, index);
  } else {
    return static_cast<Word>(hash32(rank.key, index) >> (32 - 8 * sizeof(Word)));
  }
}

/// Which ranks contribute to an element when all of them would be too many: `width` neighbours,
/// from a place that differs from element to element.
struct Window {
  std::uint32_t ranks;
  std::uint32_t width;

  [[nodiscard]] constexpr bool covers_all() const noexcept { return width >= ranks; }
  [[nodiscard]] constexpr bool contains(const RankKey& rank, std::uint32_t index) const noexcept {
    std::uint32_t place = below(hash32(rank.shared, index), ranks) + rank.rank;
    place -= place >= ranks ? ranks : 0;
    return place < width;
  }
};

/// Random bits, for collectives that only move data.
template <typename WordType>
struct RawRecipe {
  using Word = WordType;
  using Code = WordType;
  static constexpr bool kSignedZero = false;

  [[nodiscard]] Code code(const RankKey& rank, std::uint32_t index) const noexcept {
    return random_word<Word>(rank, index);
  }
  [[nodiscard]] static Code combine(Code sum, Code) noexcept { return sum; }
  [[nodiscard]] static Code factor(int) noexcept { return 1; }
  [[nodiscard]] static Word word(Code code) noexcept { return code; }
  [[nodiscard]] static Word result(Code code) noexcept { return code; }
  [[nodiscard]] static std::uint64_t factor_word(int) noexcept { return 0; }
};

/// Integers: all bits, arithmetic modulo their width.
template <typename Value, Operator kOp>
class IntegerRecipe {
 public:
  using Word = std::make_unsigned_t<Value>;
  using Code = Value;
  static constexpr bool kSignedZero = false;

  explicit IntegerRecipe(int ranks)
      : ranks_(ranks),
        shift_(kOp == Operator::kAvg ? std::bit_width(static_cast<unsigned>(ranks - 1)) : 0) {}

  /// Averages use fewer bits, so that the sum does not wrap and has one meaning. Where the type has
  /// not even one bit a rank, all inputs are zero.
  [[nodiscard]] Code code(const RankKey& rank, std::uint32_t index) const noexcept {
    if (shift_ >= std::numeric_limits<Value>::digits) return 0;
    return static_cast<Code>(static_cast<Value>(random_word<Word>(rank, index)) >> shift_);
  }
  [[nodiscard]] static Code combine(Code left, Code right) noexcept {
    if constexpr (kOp == Operator::kMin) return std::min(left, right);
    if constexpr (kOp == Operator::kMax) return std::max(left, right);
    // Unsigned and at least as wide as int, where wrapping is defined.
    using Wide = std::conditional_t<sizeof(Value) == 8, std::uint64_t, std::uint32_t>;
    const auto a = static_cast<Wide>(static_cast<Word>(left));
    const auto b = static_cast<Wide>(static_cast<Word>(right));
    return static_cast<Code>(kOp == Operator::kProd ? a * b : a + b);
  }
  [[nodiscard]] static Code factor(int rank) noexcept {
    return static_cast<Code>(kOp == Operator::kMulSum ? scramble(static_cast<std::uint64_t>(rank))
                                                      : 1);
  }
  [[nodiscard]] static Word word(Code code) noexcept { return static_cast<Word>(code); }
  [[nodiscard]] Word result(Code code) const noexcept {
    if constexpr (kOp == Operator::kAvg) {
      using Wide = std::conditional_t<sizeof(Value) < 4, std::int32_t, Value>;
      return static_cast<Word>(static_cast<Wide>(code) / static_cast<Wide>(ranks_));
    }
    return static_cast<Word>(code);
  }
  [[nodiscard]] static std::uint64_t factor_word(int rank) noexcept {
    return static_cast<Word>(factor(rank));
  }

 private:
  int ranks_;
  int shift_;
};

/// Floating-point sums (and the sums below averages): whole numbers so small that every partial sum
/// is exact.
template <typename Layout, Operator kOp>
class FloatSumRecipe {
 public:
  using Word = typename Layout::Word;
  using Code = std::conditional_t<sizeof(Word) == 8, std::int64_t, std::int32_t>;
  static constexpr bool kSignedZero = true;

  explicit FloatSumRecipe(int ranks) {
    const std::int64_t limit = Layout::kExactLimit / (kOp == Operator::kMulSum ? 2 : 1);
    window_ = {static_cast<std::uint32_t>(ranks),
               static_cast<std::uint32_t>(std::min<std::int64_t>(ranks, limit))};
    largest_ = static_cast<Code>(limit / window_.width);
    if constexpr (sizeof(Word) <= 2) {
      for (std::int64_t value = -Layout::kExactLimit; value <= Layout::kExactLimit; ++value) {
        words_.push_back(Layout::from_whole(value));
      }
    }
  }

  [[nodiscard]] Code code(const RankKey& rank, std::uint32_t index) const noexcept {
    Code value = 0;
    if constexpr (sizeof(Word) == 8) {
      const auto range = static_cast<std::uint64_t>(2 * largest_ + 1);
      value = static_cast<Code>(below(hash64(rank.key, index), range)) - largest_;
    } else {
      const auto range = static_cast<std::uint32_t>(2 * largest_ + 1);
      value = static_cast<Code>(below(hash32(rank.key, index), range)) - largest_;
    }
    return window_.covers_all() || window_.contains(rank, index) ? value : 0;
  }
  [[nodiscard]] static Code combine(Code left, Code right) noexcept { return left + right; }
  [[nodiscard]] static Code factor(int rank) noexcept {
    return kOp == Operator::kMulSum ? 1 + rank % 2 : 1;
  }
  [[nodiscard]] Word word(Code code) const noexcept {
    if constexpr (sizeof(Word) == 8) return std::bit_cast<Word>(static_cast<double>(code));
    if constexpr (sizeof(Word) == 4) return std::bit_cast<Word>(static_cast<float>(code));
    if constexpr (sizeof(Word) <= 2)
      return words_[static_cast<std::size_t>(code + Layout::kExactLimit)];
  }
  [[nodiscard]] Word result(Code code) const noexcept { return word(code); }
  [[nodiscard]] static std::uint64_t factor_word(int rank) noexcept {
    return Layout::from_whole(factor(rank));
  }

 private:
  Window window_{};
  Code largest_ = 0;
  std::vector<Word>
      words_;  ///< Of all whole numbers from -kExactLimit on; for types of 8 and 16 bits.
};

/// Floating-point products: plus or minus a power of two. A code is the exponent plus kSignStep for
/// each minus.
template <typename Layout>
class FloatProductRecipe {
 public:
  using Word = typename Layout::Word;
  using Code = std::int32_t;
  static constexpr bool kSignedZero = true;

  explicit FloatProductRecipe(int ranks)
      : window_{static_cast<std::uint32_t>(ranks),
                std::min(static_cast<std::uint32_t>(ranks), kLargestExponent)} {}

  [[nodiscard]] Code code(const RankKey& rank, std::uint32_t index) const noexcept {
    const std::uint32_t hash = hash32(rank.key, index);
    const Code exponent = static_cast<Code>((((hash >> 29) & 3U) + 1U) >> 1U) - 1;
    const Code sign = static_cast<Code>(hash >> 31) * kSignStep;
    return sign + (window_.covers_all() || window_.contains(rank, index) ? exponent : 0);
  }
  [[nodiscard]] static Code combine(Code left, Code right) noexcept { return left + right; }
  [[nodiscard]] static Code factor(int) noexcept { return 1; }
  [[nodiscard]] static Word word(Code code) noexcept {
    const Code signs = (code + kSignStep / 2) / kSignStep;
    const Code exponent = code - signs * kSignStep;
    const auto field =
        static_cast<Word>(static_cast<Word>(exponent + Layout::kBias) << Layout::kFractionBits);
    return static_cast<Word>(field | (signs % 2 != 0 ? Layout::kSign : Word{0}));
  }
  [[nodiscard]] static Word result(Code code) noexcept { return word(code); }
  [[nodiscard]] static std::uint64_t factor_word(int) noexcept { return 0; }

 private:
  /// Powers up to here are normal numbers of every type.
  static constexpr std::uint32_t kLargestExponent = 6;
  static constexpr Code kSignStep = 1024;
  Window window_;
};

/// Floating-point minimum and maximum: any finite value below two. A code is the word, reordered to
/// compare as an integer.
template <typename Layout, Operator kOp>
struct FloatOrderRecipe {
  using Word = typename Layout::Word;
  using Code = std::make_signed_t<Word>;
  static constexpr bool kSignedZero = true;

  [[nodiscard]] Code code(const RankKey& rank, std::uint32_t index) const noexcept {
    constexpr Word kTopExponentBit = Layout::kSign >> 1;
    return reorder(
        static_cast<Code>(random_word<Word>(rank, index) & static_cast<Word>(~kTopExponentBit)));
  }
  [[nodiscard]] static Code combine(Code left, Code right) noexcept {
    return kOp == Operator::kMin ? std::min(left, right) : std::max(left, right);
  }
  [[nodiscard]] static Code factor(int) noexcept { return 1; }
  [[nodiscard]] static Word word(Code code) noexcept { return static_cast<Word>(reorder(code)); }
  [[nodiscard]] static Word result(Code code) noexcept { return word(code); }
  [[nodiscard]] static std::uint64_t factor_word(int) noexcept { return 0; }

 private:
  /// Sign and magnitude to two's complement and back.
  [[nodiscard]] static constexpr Code reorder(Code bits) noexcept {
    return static_cast<Code>(bits ^
                             ((bits >> (Layout::kBits - 1)) & std::numeric_limits<Code>::max()));
  }
};

}  // namespace ripieno::tool::perf

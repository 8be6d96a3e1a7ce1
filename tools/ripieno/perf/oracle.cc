// Recipes put to work: blocks of elements that fit the first-level cache, ranks in the outer loop,
// so that the compiler vectorises the inner ones.
#include "perf/oracle.h"

#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "perf/recipes.h"

namespace ripieno::tool::perf {
namespace {

constexpr std::size_t kBlock = 1024;

/// A run of elements whose indices share their high half.
struct Block {
  std::uint64_t high;
  std::uint32_t low;
  std::size_t offset;  ///< In the caller's elements.
  std::size_t count;
};

/// Calls `body` for [first, first + count) in blocks.
template <typename Body>
void for_blocks(std::uint64_t first, std::size_t count, Body&& body) {
  for (std::size_t offset = 0; offset < count;) {
    const std::uint64_t index = first + offset;
    const std::uint64_t until_carry = (std::uint64_t{1} << 32) - (index & 0xFFFFFFFFU);
    const std::size_t length =
        std::min({count - offset, kBlock, static_cast<std::size_t>(until_carry)});
    body(Block{index >> 32, static_cast<std::uint32_t>(index), offset, length});
    offset += length;
  }
}

/// Elements of `got` that differ from `expected`; zeros of either sign are equal where the type has
/// both.
template <typename Word, bool kSignedZero>
std::size_t count_different(const Word* expected, const std::byte* got, std::size_t count) {
  if (std::memcmp(expected, got, count * sizeof(Word)) == 0) return 0;
  constexpr Word kMagnitude =
      static_cast<Word>(kSignedZero ? static_cast<Word>(~Word{0}) >> 1 : ~Word{0});
  std::size_t different = 0;
  for (std::size_t element = 0; element < count; ++element) {
    Word word;
    std::memcpy(&word, got + element * sizeof(Word), sizeof(Word));
    const bool both_zero = kSignedZero && ((word | expected[element]) & kMagnitude) == 0;
    if (word != expected[element] && !both_zero) ++different;
  }
  return different;
}

template <typename Recipe>
class RecipeOracle : public Oracle {
 public:
  using Word = typename Recipe::Word;
  using Code = typename Recipe::Code;

  RecipeOracle(Recipe recipe, int ranks, std::uint64_t seed)
      : recipe_(std::move(recipe)), ranks_(ranks), seed_(seed) {}

  void input(int rank, std::uint64_t first, std::size_t count, std::byte* to) const override {
    for_blocks(first, count, [&](const Block& block) {
      std::array<Word, kBlock> words;
      make_words(rank, block, words.data());
      std::memcpy(to + block.offset * sizeof(Word), words.data(), block.count * sizeof(Word));
    });
  }

  [[nodiscard]] std::size_t wrong_copies(int rank, std::uint64_t first, std::size_t count,
                                         const std::byte* got) const override {
    std::size_t wrong = 0;
    for_blocks(first, count, [&](const Block& block) {
      std::array<Word, kBlock> words;
      make_words(rank, block, words.data());
      wrong += count_different<Word, false>(words.data(), got + block.offset * sizeof(Word),
                                            block.count);
    });
    return wrong;
  }

  [[nodiscard]] std::size_t wrong_results(std::uint64_t first, std::size_t count,
                                          const std::byte* got) const override {
    std::size_t wrong = 0;
    for_blocks(first, count, [&](const Block& block) {
      std::array<Code, kBlock> sums;
      reduce(block, sums.data(), [](Code code) { return code; });
      std::array<Word, kBlock> words;
      for (std::size_t element = 0; element < block.count; ++element) {
        words[element] = recipe_.result(sums[element]);
      }
      wrong += count_different<Word, Recipe::kSignedZero>(
          words.data(), got + block.offset * sizeof(Word), block.count);
    });
    return wrong;
  }

  [[nodiscard]] std::uint64_t factor(int rank) const override { return recipe_.factor_word(rank); }

 protected:
  /// Combines the ranks' codes, each changed by `change` first.
  template <typename Change>
  void reduce(const Block& block, Code* sums, Change&& change) const {
    for (int rank = 0; rank < ranks_; ++rank) {
      const RankKey key = key_of(rank, block.high);
      const Code factor = recipe_.factor(rank);
      const auto term = [&](std::size_t element) {
        const Code code = recipe_.code(key, block.low + static_cast<std::uint32_t>(element));
        return change(multiplied(code, factor));
      };
      if (rank == 0) {
        for (std::size_t element = 0; element < block.count; ++element)
          sums[element] = term(element);
      } else {
        for (std::size_t element = 0; element < block.count; ++element) {
          sums[element] = Recipe::combine(sums[element], term(element));
        }
      }
    }
  }

  [[nodiscard]] int ranks() const noexcept { return ranks_; }

 private:
  /// The product in unsigned arithmetic, where it may wrap.
  [[nodiscard]] static Code multiplied(Code code, Code factor) noexcept {
    using Wide = std::conditional_t<sizeof(Code) == 8, std::uint64_t, std::uint32_t>;
    return static_cast<Code>(static_cast<Wide>(code) * static_cast<Wide>(factor));
  }

  [[nodiscard]] RankKey key_of(int rank, std::uint64_t high) const noexcept {
    const std::uint64_t shared = scramble(seed_ ^ scramble(high));
    return {scramble(shared + static_cast<std::uint64_t>(rank)), shared,
            static_cast<std::uint32_t>(rank)};
  }

  void make_words(int rank, const Block& block, Word* words) const {
    const RankKey key = key_of(rank, block.high);
    for (std::size_t element = 0; element < block.count; ++element) {
      words[element] =
          recipe_.word(recipe_.code(key, block.low + static_cast<std::uint32_t>(element)));
    }
  }

  Recipe recipe_;
  int ranks_;
  std::uint64_t seed_;
};

/// Averages of floating-point values, which may round.
template <typename Layout>
class FloatAverageOracle final : public RecipeOracle<FloatSumRecipe<Layout, Operator::kAvg>> {
 public:
  using Base = RecipeOracle<FloatSumRecipe<Layout, Operator::kAvg>>;
  using typename Base::Code;
  using typename Base::Word;

  FloatAverageOracle(int ranks, std::uint64_t seed)
      : Base(FloatSumRecipe<Layout, Operator::kAvg>(ranks), ranks, seed) {
    if constexpr (sizeof(Word) <= 2) {
      for (std::size_t word = 0; word < std::size_t{1} << Layout::kBits; ++word) {
        values_.push_back(static_cast<float>(Layout::to_double(static_cast<Word>(word))));
      }
    }
  }

  [[nodiscard]] std::size_t wrong_results(std::uint64_t first, std::size_t count,
                                          const std::byte* got) const override {
    std::size_t wrong = 0;
    for_blocks(first, count, [&](const Block& block) {
      std::array<Code, kBlock> sums;
      std::array<Code, kBlock> magnitudes;
      this->reduce(block, sums.data(), [](Code code) { return code; });
      this->reduce(block, magnitudes.data(), [](Code code) { return code < 0 ? -code : code; });
      for (std::size_t element = 0; element < block.count; ++element) {
        Word word;
        std::memcpy(&word, got + (block.offset + element) * sizeof(Word), sizeof(Word));
        const double exact = static_cast<double>(sums[element]) / this->ranks();
        const double mean = static_cast<double>(magnitudes[element]) / this->ranks();
        // Written so that a NaN is wrong.
        if (!(std::abs(value_of(word) - exact) <= bound(exact, mean))) ++wrong;
      }
    });
    return wrong;
  }

 private:
  [[nodiscard]] double value_of(Word word) const noexcept {
    if constexpr (sizeof(Word) == 8) return std::bit_cast<double>(word);
    if constexpr (sizeof(Word) == 4) return std::bit_cast<float>(word);
    if constexpr (sizeof(Word) <= 2) return values_[word];
  }

  /// Each term, the division and the sum round in the accumulator; then the result rounds to the
  /// type. Dividing by a power of two rounds nothing, unless the result is too small to be a normal
  /// number.
  [[nodiscard]] double bound(double exact, double mean_magnitude) const noexcept {
    const bool tiny = std::abs(exact) < smallest_normal_;
    if (exact_division_) return tiny ? half_of_smallest_ : 0;
    const double accumulated = (this->ranks() + 3) * accumulator_roundoff_ * mean_magnitude;
    return accumulated + roundoff_ * (std::abs(exact) + accumulated) + half_of_smallest_;
  }

  bool exact_division_ = std::has_single_bit(static_cast<unsigned>(this->ranks()));
  double roundoff_ = Layout::roundoff();
  double accumulator_roundoff_ = sizeof(Word) == 8 ? Float64::roundoff() : Float32::roundoff();
  double smallest_normal_ = Layout::smallest_normal();
  double half_of_smallest_ = Layout::half_of_smallest();
  std::vector<float> values_;  ///< Of all words; for types of 8 and 16 bits.
};

template <typename Recipe>
std::unique_ptr<Oracle> make(Recipe recipe, int ranks, std::uint64_t seed) {
  return std::make_unique<RecipeOracle<Recipe>>(std::move(recipe), ranks, seed);
}

template <typename Value>
std::unique_ptr<Oracle> make_integer(Operator op, int ranks, std::uint64_t seed) {
  switch (op) {
    case Operator::kSum:
      return make(IntegerRecipe<Value, Operator::kSum>(ranks), ranks, seed);
    case Operator::kProd:
      return make(IntegerRecipe<Value, Operator::kProd>(ranks), ranks, seed);
    case Operator::kMin:
      return make(IntegerRecipe<Value, Operator::kMin>(ranks), ranks, seed);
    case Operator::kMax:
      return make(IntegerRecipe<Value, Operator::kMax>(ranks), ranks, seed);
    case Operator::kAvg:
      return make(IntegerRecipe<Value, Operator::kAvg>(ranks), ranks, seed);
    case Operator::kMulSum:
      return make(IntegerRecipe<Value, Operator::kMulSum>(ranks), ranks, seed);
  }
  return nullptr;
}

template <typename Layout>
std::unique_ptr<Oracle> make_float(Operator op, int ranks, std::uint64_t seed) {
  switch (op) {
    case Operator::kSum:
      return make(FloatSumRecipe<Layout, Operator::kSum>(ranks), ranks, seed);
    case Operator::kProd:
      return make(FloatProductRecipe<Layout>(ranks), ranks, seed);
    case Operator::kMin:
      return make(FloatOrderRecipe<Layout, Operator::kMin>(), ranks, seed);
    case Operator::kMax:
      return make(FloatOrderRecipe<Layout, Operator::kMax>(), ranks, seed);
    case Operator::kAvg:
      return std::make_unique<FloatAverageOracle<Layout>>(ranks, seed);
    case Operator::kMulSum:
      return make(FloatSumRecipe<Layout, Operator::kMulSum>(ranks), ranks, seed);
  }
  return nullptr;
}

std::unique_ptr<Oracle> make_raw(std::size_t size, int ranks, std::uint64_t seed) {
  switch (size) {
    case 1:
      return make(RawRecipe<std::uint8_t>(), ranks, seed);
    case 2:
      return make(RawRecipe<std::uint16_t>(), ranks, seed);
    case 4:
      return make(RawRecipe<std::uint32_t>(), ranks, seed);
    default:
      return make(RawRecipe<std::uint64_t>(), ranks, seed);
  }
}

}  // namespace

std::unique_ptr<Oracle> make_oracle(ncclDataType_t type, std::optional<Operator> op, int ranks,
                                    std::uint64_t seed) {
  if (!op) {
    for (const DataType& row : data_types()) {
      if (row.type == type) return make_raw(row.size, ranks, seed);
    }
    return nullptr;
  }
  switch (type) {
    case ncclInt8:
      return make_integer<std::int8_t>(*op, ranks, seed);
    case ncclUint8:
      return make_integer<std::uint8_t>(*op, ranks, seed);
    case ncclInt32:
      return make_integer<std::int32_t>(*op, ranks, seed);
    case ncclUint32:
      return make_integer<std::uint32_t>(*op, ranks, seed);
    case ncclInt64:
      return make_integer<std::int64_t>(*op, ranks, seed);
    case ncclUint64:
      return make_integer<std::uint64_t>(*op, ranks, seed);
    case ncclFloat16:
      return make_float<Float16>(*op, ranks, seed);
    case ncclFloat32:
      return make_float<Float32>(*op, ranks, seed);
    case ncclFloat64:
      return make_float<Float64>(*op, ranks, seed);
    case ncclBfloat16:
      return make_float<Bfloat16>(*op, ranks, seed);
    case ncclFloat8e4m3:
      return make_float<Float8e4m3>(*op, ranks, seed);
    case ncclFloat8e5m2:
      return make_float<Float8e5m2>(*op, ranks, seed);
    default:
      return nullptr;
  }
}

}  // namespace ripieno::tool::perf

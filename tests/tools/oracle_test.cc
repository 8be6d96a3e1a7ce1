// The oracle against arithmetic done the slow way: every value is decoded to a number, combined as
// the operator's name says, and put back by looking for the nearest value of the type.
#include "perf/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace ripieno::tool::perf {
namespace {

struct FloatShape {
  int exponent_bits;
  int fraction_bits;
  bool infinity;
};

std::optional<FloatShape> shape_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
      return FloatShape{5, 10, true};
    case ncclFloat32:
      return FloatShape{8, 23, true};
    case ncclFloat64:
      return FloatShape{11, 52, true};
    case ncclBfloat16:
      return FloatShape{8, 7, true};
    case ncclFloat8e4m3:
      return FloatShape{4, 3, false};
    case ncclFloat8e5m2:
      return FloatShape{5, 2, true};
    default:
      return std::nullopt;
  }
}

double decode(std::uint64_t word, const FloatShape& shape) {
  const std::uint64_t fraction = word & ((1ULL << shape.fraction_bits) - 1);
  const std::uint64_t exponent =
      (word >> shape.fraction_bits) & ((1ULL << shape.exponent_bits) - 1);
  const bool negative = ((word >> (shape.fraction_bits + shape.exponent_bits)) & 1) != 0;
  const int bias = (1 << (shape.exponent_bits - 1)) - 1;
  const double hidden = exponent == 0 ? 0 : 1;
  const int scale = static_cast<int>(std::max<std::uint64_t>(exponent, 1)) - bias;
  const double magnitude =
      std::ldexp(hidden + std::ldexp(static_cast<double>(fraction), -shape.fraction_bits), scale);
  return negative ? -magnitude : magnitude;
}

/// All finite values of a type of 8 or 16 bits with their words, in order.
const std::map<double, std::uint64_t>& values_of(ncclDataType_t type) {
  static std::map<ncclDataType_t, std::map<double, std::uint64_t>> known;
  std::map<double, std::uint64_t>& values = known[type];
  if (!values.empty()) return values;
  const FloatShape shape = *shape_of(type);
  const std::uint64_t top = (1ULL << shape.exponent_bits) - 1;
  for (std::uint64_t word = 0; word < 1ULL << (1 + shape.exponent_bits + shape.fraction_bits);
       ++word) {
    const bool special = ((word >> shape.fraction_bits) & top) == top;
    if (!special || !shape.infinity) values.emplace(decode(word, shape), word);
  }
  return values;
}

/// The word whose value is nearest, of two the even one.
std::uint64_t encode_small(double value, ncclDataType_t type) {
  const std::map<double, std::uint64_t>& values = values_of(type);
  const auto above = values.lower_bound(value);
  if (above == values.end()) return std::prev(above)->second;
  if (above == values.begin() || above->first == value) return above->second;
  const auto below = std::prev(above);
  const double up = above->first - value;
  const double down = value - below->first;
  if (up == down) return below->second % 2 == 0 ? below->second : above->second;
  return up < down ? above->second : below->second;
}

std::uint64_t encode(double value, ncclDataType_t type) {
  if (type == ncclFloat64) return std::bit_cast<std::uint64_t>(value);
  if (type == ncclFloat32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return encode_small(value, type);
}

std::vector<std::uint64_t> words_of(const Oracle& oracle, const DataType& type, int rank,
                                    std::uint64_t first, std::size_t count) {
  std::vector<std::byte> bytes(count * type.size);
  oracle.input(rank, first, count, bytes.data());
  std::vector<std::uint64_t> words(count);
  for (std::size_t element = 0; element < count; ++element) {
    std::memcpy(&words[element], bytes.data() + element * type.size, type.size);
  }
  return words;
}

std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& words, std::size_t size) {
  std::vector<std::byte> bytes(words.size() * size);
  for (std::size_t element = 0; element < words.size(); ++element) {
    std::memcpy(bytes.data() + element * size, &words[element], size);
  }
  return bytes;
}

double reduce_floats(Operator op, const std::vector<double>& terms,
                     const std::vector<double>& factors) {
  double result = op == Operator::kMulSum ? terms[0] * factors[0] : terms[0];
  for (std::size_t rank = 1; rank < terms.size(); ++rank) {
    switch (op) {
      case Operator::kProd:
        result *= terms[rank];
        break;
      case Operator::kMin:
        result = std::min(result, terms[rank]);
        break;
      case Operator::kMax:
        result = std::max(result, terms[rank]);
        break;
      case Operator::kMulSum:
        result += terms[rank] * factors[rank];
        break;
      default:
        result += terms[rank];
    }
  }
  return op == Operator::kAvg ? result / static_cast<double>(terms.size()) : result;
}

/// Sign- or zero-extends the low `size` bytes.
__extension__ typedef __int128 Wide;
Wide widen(std::uint64_t word, std::size_t size, bool is_signed) {
  const int unused = 64 - 8 * static_cast<int>(size);
  if (is_signed) return static_cast<std::int64_t>(word << unused) >> unused;
  return (word << unused) >> unused;
}

std::uint64_t reduce_integers(Operator op, const std::vector<std::uint64_t>& terms,
                              const std::vector<std::uint64_t>& factors, std::size_t size,
                              bool is_signed) {
  Wide result = 0;
  for (std::size_t rank = 0; rank < terms.size(); ++rank) {
    const Wide term = widen(terms[rank], size, is_signed);
    const auto low = static_cast<std::uint64_t>(result);
    if (rank == 0) {
      result = op == Operator::kMulSum ? static_cast<Wide>(terms[0] * factors[0]) : term;
    } else if (op == Operator::kProd) {
      result = static_cast<Wide>(low * terms[rank]);
    } else if (op == Operator::kMin) {
      result = std::min(result, term);
    } else if (op == Operator::kMax) {
      result = std::max(result, term);
    } else if (op == Operator::kMulSum) {
      result = static_cast<Wide>(low + terms[rank] * factors[rank]);
    } else {
      result += term;
    }
  }
  if (op == Operator::kAvg) result /= static_cast<Wide>(terms.size());
  return static_cast<std::uint64_t>(result);
}

/// The right result of elements [first, first + count), computed element by element.
std::vector<std::byte> right_result(const Oracle& oracle, const DataType& type, Operator op,
                                    int ranks, std::uint64_t first, std::size_t count) {
  const std::optional<FloatShape> shape = shape_of(type.type);
  const bool is_signed = type.type == ncclInt8 || type.type == ncclInt32 || type.type == ncclInt64;
  std::vector<std::vector<std::uint64_t>> inputs;
  std::vector<std::uint64_t> factors;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.push_back(words_of(oracle, type, rank, first, count));
    factors.push_back(oracle.factor(rank));
  }
  std::vector<std::uint64_t> results;
  for (std::size_t element = 0; element < count; ++element) {
    std::vector<std::uint64_t> terms;
    std::vector<double> numbers;
    std::vector<double> factor_numbers;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      terms.push_back(inputs[rank][element]);
      if (shape) numbers.push_back(decode(terms.back(), *shape));
      if (shape) factor_numbers.push_back(decode(factors[rank], *shape));
    }
    results.push_back(shape ? encode(reduce_floats(op, numbers, factor_numbers), type.type)
                            : reduce_integers(op, terms, factors, type.size, is_signed));
  }
  return bytes_of(results, type.size);
}

class OracleOfRanks : public testing::TestWithParam<int> {};

TEST_P(OracleOfRanks, AcceptsTheRightResultOfEveryTypeAndOperator) {
  for (const DataType& type : data_types()) {
    for (const NamedOperator& op : operators()) {
      SCOPED_TRACE(testing::Message() << type.name << ' ' << op.name);
      const auto oracle = make_oracle(type.type, op.op, GetParam(), 42);
      const std::vector<std::byte> right = right_result(*oracle, type, op.op, GetParam(), 5, 21);
      EXPECT_EQ(oracle->wrong_results(5, 21, right.data()), 0U);
    }
  }
}

TEST_P(OracleOfRanks, CountsEachElementThatIsFarOff) {
  for (const DataType& type : data_types()) {
    for (const NamedOperator& op : operators()) {
      SCOPED_TRACE(testing::Message() << type.name << ' ' << op.name);
      const auto oracle = make_oracle(type.type, op.op, GetParam(), 42);
      std::vector<std::byte> result = right_result(*oracle, type, op.op, GetParam(), 0, 21);
      // The top byte holds the sign and most of the exponent.
      for (const std::size_t element : {0U, 7U, 20U})
        result[(element + 1) * type.size - 1] ^= std::byte{0x50};
      EXPECT_EQ(oracle->wrong_results(0, 21, result.data()), 3U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, OracleOfRanks, testing::Values(1, 2, 3, 4, 7, 20, 130));

TEST(Oracle, SeesOneMissingRankInAlmostEveryElement) {
  constexpr std::size_t kCount = 1000;
  for (const DataType& type : data_types()) {
    SCOPED_TRACE(type.name);
    // What three ranks make of it, where four should.
    const auto three = make_oracle(type.type, Operator::kSum, 3, 1);
    const auto four = make_oracle(type.type, Operator::kSum, 4, 1);
    std::vector<std::byte> result(kCount * type.size);
    four->input(0, 0, kCount, result.data());
    EXPECT_GT(four->wrong_results(0, kCount, result.data()), kCount * 7 / 10);
    three->input(0, 0, kCount, result.data());
    EXPECT_GT(three->wrong_results(0, kCount, result.data()), kCount * 7 / 10);
  }
}

TEST(Oracle, SeesASingleLastBitInExactResults) {
  for (const DataType& type : data_types()) {
    for (const Operator op :
         {Operator::kSum, Operator::kProd, Operator::kMin, Operator::kMax, Operator::kMulSum}) {
      SCOPED_TRACE(testing::Message() << type.name << ' ' << name_of(op));
      const auto oracle = make_oracle(type.type, op, 4, 9);
      std::vector<std::byte> result = right_result(*oracle, type, op, 4, 0, 11);
      result[3 * type.size] ^= std::byte{1};
      EXPECT_EQ(oracle->wrong_results(0, 11, result.data()), 1U);
    }
  }
}

TEST(Oracle, TakesZerosOfEitherSignForEqual) {
  const auto oracle = make_oracle(ncclFloat32, Operator::kSum, 2, 3);
  constexpr std::size_t kCount = 1 << 20;
  std::vector<std::byte> zeros(kCount * 4);
  std::vector<std::byte> minus_zeros(kCount * 4);
  for (std::size_t element = 0; element < kCount; ++element)
    minus_zeros[element * 4 + 3] = std::byte{0x80};
  EXPECT_EQ(oracle->wrong_results(0, kCount, zeros.data()),
            oracle->wrong_results(0, kCount, minus_zeros.data()));
}

TEST(Oracle, CallsNotANumberWrongInAnAverage) {
  const auto oracle = make_oracle(ncclFloat32, Operator::kAvg, 3, 3);
  std::vector<float> result(10, std::nanf(""));
  EXPECT_EQ(oracle->wrong_results(0, 10, reinterpret_cast<const std::byte*>(result.data())), 10U);
}

TEST(Oracle, KnowsEveryPartOfAnInputByItsIndex) {
  for (const DataType& type : data_types()) {
    SCOPED_TRACE(type.name);
    const auto oracle = make_oracle(type.type, std::nullopt, 4, 17);
    constexpr std::uint64_t kFirst =
        (1ULL << 32) - 1500;  // Across the end of the low half of the index.
    std::vector<std::byte> whole(3000 * type.size);
    oracle->input(2, kFirst, 3000, whole.data());
    std::vector<std::byte> part(700 * type.size);
    oracle->input(2, kFirst + 1200, 700, part.data());
    EXPECT_TRUE(std::equal(part.begin(), part.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(1200 * type.size)));
    EXPECT_EQ(oracle->wrong_copies(2, kFirst + 1200, 700, part.data()), 0U);
    EXPECT_GT(oracle->wrong_copies(1, kFirst + 1200, 700, part.data()), 650U);
    EXPECT_GT(oracle->wrong_copies(2, kFirst + 1201, 700, part.data()), 650U);
  }
}

TEST(Oracle, MakesOtherInputsFromAnotherSeed) {
  const auto one = make_oracle(ncclInt32, Operator::kSum, 2, 1);
  const auto two = make_oracle(ncclInt32, Operator::kSum, 2, 2);
  const DataType type = select_types("int32").front();
  EXPECT_NE(words_of(*one, type, 0, 0, 8), words_of(*two, type, 0, 0, 8));
  const std::vector<std::uint64_t> words = words_of(*one, type, 0, 0, 1000);
  EXPECT_EQ(std::set(words.begin(), words.end()).size(), 1000U);
}

}  // namespace
}  // namespace ripieno::tool::perf

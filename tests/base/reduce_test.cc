// Every type, operation, count, alignment, store and processor target of the reductions, against
// the slow oracle, with guard bytes around each output; and the cases from the field that are about
// arithmetic.
#include "base/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/reduce_kernel.h"
#include "base/reduce_oracle.h"

namespace ripieno {
namespace {

constexpr std::array kKinds = {ReduceKind::kSum, ReduceKind::kProd,    ReduceKind::kMax,
                               ReduceKind::kMin, ReduceKind::kAverage, ReduceKind::kPreMulSum};
constexpr std::array<std::size_t, 12> kCounts = {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 1000, 4097};
constexpr std::size_t kMostElements = 4097;
constexpr std::size_t kGuard = 128;
constexpr std::byte kGuardByte{0xA5};

/// Elements at a chosen distance from a 64-byte boundary, with guard bytes around.
class Buffer {
 public:
  Buffer(std::size_t bytes, std::size_t misalignment)
      : memory_(bytes + misalignment + 2 * kGuard + 64, kGuardByte), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
    start_ = kGuard + (64 - address % 64) % 64 + misalignment;
  }

  std::byte* data() { return memory_.data() + start_; }
  const std::byte* data() const { return memory_.data() + start_; }

  bool guards_intact() const {
    const auto is_guard = [](std::byte value) { return value == kGuardByte; };
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(start_),
                       is_guard) &&
           std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(start_ + bytes_),
                       memory_.end(), is_guard);
  }

 private:
  std::vector<std::byte> memory_;
  std::size_t bytes_;
  std::size_t start_ = 0;
};

std::uint64_t element(ncclDataType_t type, const std::byte* from, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from + index * type_size(type), type_size(type));
  return bits;
}

/// Numbers that add up, mixed with any bit pattern: infinities, NaNs, subnormal and largest values.
class Generator {
 public:
  explicit Generator(ncclDataType_t type) : type_(type), random_(static_cast<unsigned>(type) + 1) {}

  std::uint64_t next() {
    const std::uint64_t pattern = random_();
    if (!oracle::is_float(type_) || random_() % 16 == 0) return narrowed(pattern);
    const double value = std::uniform_real_distribution<double>(-4.0, 4.0)(random_);
    if (type_ == ncclFloat32) return oracle::bits_of(static_cast<float>(value));
    if (type_ == ncclFloat64) return oracle::bits_of(value);
    return oracle::small_format(type_).nearest(value);
  }

 private:
  std::uint64_t narrowed(std::uint64_t pattern) const {
    const std::size_t width = type_size(type_) * 8;
    return width == 64 ? pattern : pattern & ((std::uint64_t{1} << width) - 1);
  }

  ncclDataType_t type_;
  std::mt19937_64 random_;
};

struct Shape {
  std::size_t count;
  std::size_t input_misalignment;   ///< Of input k: this, times k + 1.
  std::size_t output_misalignment;  ///< Of output k: this, times k + 1.
  std::size_t outputs;
  Store store;
  bool in_place;
};

std::vector<Shape> shapes(std::size_t element_bytes) {
  std::vector<Shape> result;
  for (const std::size_t count : kCounts) {
    for (const Store store : {Store::kCached, Store::kStreaming}) {
      result.push_back({count, 0, 0, 2, store, false});
      result.push_back({count, element_bytes, 0, 1, store, false});
      result.push_back({count, 0, element_bytes, 3, store, false});
      result.push_back({count, 1, 3, 2, store, false});
      result.push_back({count, element_bytes, 0, 2, store, true});
    }
  }
  return result;
}

/// Inputs of one reduction and the results that the oracle wants.
struct Problem {
  Reduction reduction;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::uint64_t> wanted;
};

Problem make_problem(ncclDataType_t type, ReduceKind kind, std::size_t input_count) {
  Problem problem{{type, kind, static_cast<int>(input_count), 0}, {}, {}};
  Generator generator(type);
  do {
    problem.reduction.scalar = generator.next();
  } while (oracle::is_float(type) &&
           !std::isfinite(oracle::value_of(type, problem.reduction.scalar)));
  const std::size_t size = type_size(type);
  problem.inputs.assign(input_count, std::vector<std::byte>(kMostElements * size));
  for (std::size_t index = 0; index < kMostElements; ++index) {
    std::vector<std::uint64_t> bits;
    for (auto& input : problem.inputs) {
      bits.push_back(generator.next());
      std::memcpy(input.data() + index * size, &bits.back(), size);
    }
    problem.wanted.push_back(oracle::reduce(problem.reduction, bits));
  }
  // One rank's reduction is its input, bit for bit, even where a computation would saturate.
  if (input_count == 1 && kind != ReduceKind::kPreMulSum) {
    for (std::size_t index = 0; index < kMostElements; ++index) {
      problem.wanted[index] = element(type, problem.inputs[0].data(), index);
    }
  }
  return problem;
}

void check(const Problem& problem, const Shape& shape) {
  const ncclDataType_t type = problem.reduction.type;
  const std::size_t bytes = shape.count * type_size(type);
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (std::size_t input = 0; input < problem.inputs.size(); ++input) {
    inputs.emplace_back(bytes, shape.input_misalignment * (input + 1) % 64);
    std::memcpy(inputs.back().data(), problem.inputs[input].data(), bytes);
  }
  for (std::size_t output = 0; output < shape.outputs; ++output) {
    outputs.emplace_back(bytes, shape.output_misalignment * (output + 1) % 64);
  }
  const auto data_of = [](Buffer& buffer) { return buffer.data(); };
  std::ranges::transform(inputs, std::back_inserter(from), data_of);
  std::ranges::transform(outputs, std::back_inserter(to), data_of);
  if (shape.in_place) to.front() = inputs.back().data();

  reduce(problem.reduction, from, to, shape.count, shape.store);

  for (const std::byte* result : to) {
    for (std::size_t index = 0; index < shape.count; ++index) {
      const std::uint64_t got = element(type, result, index);
      ASSERT_TRUE(oracle::matches(problem.reduction, problem.wanted[index], got))
          << "element " << index << " of " << shape.count << ": wanted " << std::hex
          << problem.wanted[index] << ", got " << got << std::dec << "; " << problem.inputs.size()
          << " inputs, misaligned " << shape.input_misalignment << " to "
          << shape.output_misalignment;
    }
  }
  for (const Buffer& output : outputs) ASSERT_TRUE(output.guards_intact());
  for (const Buffer& input : inputs) ASSERT_TRUE(input.guards_intact());
}

class ReduceTypes : public testing::TestWithParam<ncclDataType_t> {
 public:
  ~ReduceTypes() override { reduction::use_target(reduction::available_targets().back()); }

 protected:
  ncclDataType_t type() const { return GetParam(); }
};
class ReduceFloats : public ReduceTypes {};
class ReduceSmallTypes : public ReduceTypes {};

TEST_P(ReduceTypes, AgreesWithTheOracleOnEveryTarget) {
  for (const ReduceKind kind : kKinds) {
    for (const std::size_t input_count : {1, 2, 3, 4, 7, 8, 17}) {
      const Problem problem = make_problem(type(), kind, input_count);
      for (const reduction::Target target : reduction::available_targets()) {
        reduction::use_target(target);
        ASSERT_EQ(reduction::current_target(), target);
        SCOPED_TRACE(testing::Message()
                     << reduction::target_name(target) << ", kind " << static_cast<int>(kind));
        for (const Shape& shape : shapes(type_size(type()))) check(problem, shape);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(ReduceTypes, AcceptsAThousandInputs) {
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kAverage}) {
    const Problem problem = make_problem(type(), kind, 1024);
    for (const reduction::Target target : reduction::available_targets()) {
      reduction::use_target(target);
      check(problem, {777, 0, 0, 1, Store::kCached, false});
    }
  }
}

TEST_P(ReduceFloats, AveragesOfTheLargestValueAreThatValue) {  // Cases 72a and 71.
  // In float64, the largest of which all sums are exact.
  std::uint64_t largest = oracle::bits_of(0x1p1023);
  if (type() == ncclFloat32) largest = oracle::bits_of(std::numeric_limits<float>::max());
  if (oracle::is_small_float(type())) largest = oracle::small_format(type()).largest_code();
  for (const reduction::Target target : reduction::available_targets()) {
    reduction::use_target(target);
    for (const int ranks : {1, 2, 3, 10}) {
      std::vector<std::byte> input(100 * type_size(type()));
      for (std::size_t index = 0; index < 100; ++index) {
        std::memcpy(input.data() + index * type_size(type()), &largest, type_size(type()));
      }
      std::vector<std::byte> output(input.size());
      const std::vector<const std::byte*> from(static_cast<std::size_t>(ranks), input.data());
      std::byte* const to = output.data();
      reduce({type(), ReduceKind::kAverage, ranks, 0}, from, {&to, 1}, 100, Store::kCached);
      EXPECT_EQ(output, input) << ranks << " ranks on " << reduction::target_name(target);
    }
  }
}

template <typename T>
std::vector<T> reduce_vectors(const Reduction& reduction,
                              const std::vector<std::vector<T>>& inputs) {
  std::vector<const std::byte*> from;
  from.reserve(inputs.size());
  for (const auto& input : inputs) from.push_back(reinterpret_cast<const std::byte*>(input.data()));
  std::vector<T> output(inputs[0].size());
  auto* to = reinterpret_cast<std::byte*>(output.data());
  reduce(reduction, from, {&to, 1}, output.size(), Store::kCached);
  return output;
}

/// Two inputs that pair every code of a type of up to 16 bits with another; for 8 bits with every
/// other.
Problem every_code(ncclDataType_t type, ReduceKind kind) {
  constexpr std::size_t kCodes = 65536;
  Problem problem{{type, kind, 2, 0}, {}, {}};
  problem.inputs.assign(2, std::vector<std::byte>(kCodes * type_size(type)));
  for (std::uint64_t index = 0; index < kCodes; ++index) {
    const std::uint64_t first = type_size(type) == 1 ? index % 256 : index;
    const std::uint64_t second = type_size(type) == 1 ? index / 256 : (index * 40503) % kCodes;
    std::memcpy(problem.inputs[0].data() + index * type_size(type), &first, type_size(type));
    std::memcpy(problem.inputs[1].data() + index * type_size(type), &second, type_size(type));
    problem.wanted.push_back(oracle::reduce(problem.reduction, {first, second}));
  }
  return problem;
}

TEST_P(ReduceSmallTypes, HandlesEveryCode) {
  for (const ReduceKind kind :
       {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kAverage}) {
    const Problem problem = every_code(type(), kind);
    for (const reduction::Target target : reduction::available_targets()) {
      reduction::use_target(target);
      SCOPED_TRACE(testing::Message()
                   << reduction::target_name(target) << ", kind " << static_cast<int>(kind));
      check(problem, {65536, 0, 0, 1, Store::kCached, false});
    }
  }
}

std::string type_label(const testing::TestParamInfo<ncclDataType_t>& info) {
  return type_name(info.param);
}
INSTANTIATE_TEST_SUITE_P(All, ReduceTypes,
                         testing::Values(ncclInt8, ncclUint8, ncclInt32, ncclUint32, ncclInt64,
                                         ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64,
                                         ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2),
                         type_label);
INSTANTIATE_TEST_SUITE_P(All, ReduceFloats,
                         testing::Values(ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16,
                                         ncclFloat8e4m3, ncclFloat8e5m2),
                         type_label);
INSTANTIATE_TEST_SUITE_P(All, ReduceSmallTypes,
                         testing::Values(ncclInt8, ncclUint8, ncclFloat16, ncclBfloat16,
                                         ncclFloat8e4m3, ncclFloat8e5m2),
                         type_label);

TEST(Reduce, CopiesASingleRanksBfloat16Average) {  // Case 71.
  for (std::size_t count = 1; count < 64; ++count) {
    std::vector<std::uint16_t> input(count);
    for (std::size_t index = 0; index < count; ++index)
      input[index] = static_cast<std::uint16_t>(0x3F80 + index);
    EXPECT_EQ(reduce_vectors<std::uint16_t>({ncclBfloat16, ReduceKind::kAverage, 1, 0}, {input}),
              input);
  }
}

TEST(Reduce, ReadsABfloat16Scalar) {  // Case 74: 0.5 * 2 + 0.5 * 4 = 3.
  const std::vector<std::uint16_t> twos(8, 0x4000);
  const std::vector<std::uint16_t> fours(8, 0x4080);
  const std::vector<std::uint16_t> threes(8, 0x4040);
  EXPECT_EQ(reduce_vectors<std::uint16_t>({ncclBfloat16, ReduceKind::kPreMulSum, 2, 0x3F00},
                                          {twos, fours}),
            threes);
}

TEST(Reduce, WritesAllFloat8Elements) {  // Case 77: 1 + 1.5 = 2.5 and max = 1.5, 64 times.
  const std::vector<std::uint8_t> ones(64, 0x38);
  const std::vector<std::uint8_t> larger(64, 0x3C);
  EXPECT_EQ(reduce_vectors<std::uint8_t>({ncclFloat8e4m3, ReduceKind::kSum, 2, 0}, {ones, larger}),
            std::vector<std::uint8_t>(64, 0x42));
  EXPECT_EQ(reduce_vectors<std::uint8_t>({ncclFloat8e4m3, ReduceKind::kMax, 2, 0}, {ones, larger}),
            larger);
}

TEST(Reduce, AccumulatesBfloat16InFloat32) {  // Case 79: 256 + 8 * 1 = 264.
  std::vector<std::vector<std::uint16_t>> inputs(9, std::vector<std::uint16_t>(33, 0x3F80));
  inputs[0].assign(33, 0x4380);
  const std::vector<std::uint16_t> wanted(33, 0x4384);
  EXPECT_EQ(reduce_vectors<std::uint16_t>({ncclBfloat16, ReduceKind::kSum, 9, 0}, inputs), wanted);
}

TEST(Reduce, AddsInRankOrder) {  // Case 80: ((1e8 + 1) - 1e8) + 1 = 1 in float32.
  const std::vector<std::vector<float>> inputs = {{1e8F}, {1.0F}, {-1e8F}, {1.0F}};
  EXPECT_EQ(reduce_vectors<float>({ncclFloat32, ReduceKind::kSum, 4, 0}, inputs),
            std::vector<float>{1.0F});
}

TEST(Reduce, KeepsTheBitsOfSubnormalFloat64Averages) {
  const std::vector<double> tiny(9, std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(reduce_vectors<double>({ncclFloat64, ReduceKind::kAverage, 3, 0}, {tiny, tiny, tiny}),
            tiny);
}

TEST(Reduce, KeepsFloat64AveragesFiniteForAnyNumberOfRanks) {
  const std::vector<double> largest(1, std::numeric_limits<double>::max());
  for (int ranks = 2; ranks <= 1024; ++ranks) {
    const std::vector<std::vector<double>> inputs(static_cast<std::size_t>(ranks), largest);
    const auto average =
        reduce_vectors<double>({ncclFloat64, ReduceKind::kAverage, ranks, 0}, inputs);
    EXPECT_GT(average[0], 0x1.fffffffffffp1023) << ranks;
    EXPECT_TRUE(std::isfinite(average[0])) << ranks;
  }
}

TEST(Reduce, TruncatesIntegerAveragesTowardZero) {
  const std::vector<std::vector<std::int32_t>> inputs = {{-7, 7, INT32_MIN}, {0, 0, INT32_MIN}};
  const std::vector<std::int32_t> wanted = {-3, 3, INT32_MIN};
  EXPECT_EQ(reduce_vectors<std::int32_t>({ncclInt32, ReduceKind::kAverage, 2, 0}, inputs), wanted);
}

TEST(Reduce, PrefersNumbersToNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> inputs = {{nan, 1.0F, nan}, {2.0F, nan, nan}};
  for (const ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin}) {
    const auto result = reduce_vectors<float>({ncclFloat32, kind, 2, 0}, inputs);
    EXPECT_EQ(result[0], 2.0F);
    EXPECT_EQ(result[1], 1.0F);
    EXPECT_TRUE(std::isnan(result[2]));
  }
}

TEST(Copy, CopiesEveryByteAndNoOther) {
  for (const Store store : {Store::kCached, Store::kStreaming}) {
    for (const std::size_t bytes : {0, 1, 63, 64, 255, 4095, 4096, 4097, 10000}) {
      for (const std::size_t misalignment : {0, 1, 32, 63}) {
        Buffer from(bytes, 7);
        Buffer to(bytes, misalignment);
        for (std::size_t index = 0; index < bytes; ++index)
          from.data()[index] = static_cast<std::byte>(index * 7);
        copy(to.data(), from.data(), bytes, store);
        EXPECT_TRUE(bytes == 0 || std::memcmp(to.data(), from.data(), bytes) == 0);
        EXPECT_TRUE(to.guards_intact());
      }
    }
  }
}

}  // namespace
}  // namespace ripieno

// What goes into a collective and what must come out of it. Inputs are a function of (seed, rank,
// index), so any part of any rank's input, and of the result, can be computed anywhere without
// asking another rank and without a copy of it.
//
// Inputs are chosen so that the right result does not depend on how it is computed. Integers use
// all their bits and wrap. Floating-point sums add small whole numbers that every partial sum
// represents exactly, products multiply powers of two, minimum and maximum see any finite value:
// there the comparison is exact, in every order of reduction and with any accumulator. Only an
// average over a number of ranks that is no power of two is allowed to round: within a bound made
// of the number of terms, the accumulator's roundoff (float32, for double float64) and one rounding
// to the type. Zeros are equal whatever their sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "perf/types.h"

namespace ripieno::tool::perf {

class Oracle {
 public:
  virtual ~Oracle() = default;

  /// Writes elements [first, first + count) of what `rank` sends.
  virtual void input(int rank, std::uint64_t first, std::size_t count, std::byte* to) const = 0;

  /// How many of the elements `got` differ from elements [first, first + count) of what `rank`
  /// sends.
  [[nodiscard]] virtual std::size_t wrong_copies(int rank, std::uint64_t first, std::size_t count,
                                                 const std::byte* got) const = 0;

  /// How many of the elements `got` differ from elements [first, first + count) of the reduction of
  /// all ranks.
  [[nodiscard]] virtual std::size_t wrong_results(std::uint64_t first, std::size_t count,
                                                  const std::byte* got) const = 0;

  /// Operator::kMulSum: the factor of `rank`, one value of the type in the low bytes.
  [[nodiscard]] virtual std::uint64_t factor(int rank) const = 0;
};

/// Oracle of one measurement. Without an operator the inputs are random bits, for collectives that
/// only move data.
[[nodiscard]] std::unique_ptr<Oracle> make_oracle(ncclDataType_t type, std::optional<Operator> op,
                                                  int ranks, std::uint64_t seed);

}  // namespace ripieno::tool::perf

// Inputs and expected results of the matrix. Element i of rank r's input is entry (i + salt) %
// kPeriod of r's table, so inputs of any length come from a short table, whatever lands in a wrong
// place shows, and expected reductions are worked out only once per type, operator and number of
// ranks.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ripieno::test {

/// A prime: no block, slice or piece is a multiple of it.
inline constexpr std::size_t kPeriod = 251;

/// The elements of one table as bytes, kPeriod times the type's size.
using Table = std::vector<std::byte>;

/// Input table of `rank`.
const Table& input_table(ncclDataType_t type, int rank);
/// Reduction, in rank order, of the input tables of ranks [0, ranks).
const Table& reduced_table(ncclDataType_t type, ncclRedOp_t operation, int ranks);

/// Fills `to` with elements begin, begin + 1, ... of the endless repetition of `table`.
void fill_from(const Table& table, std::size_t element_bytes, std::size_t begin,
               std::span<std::byte> to);

}  // namespace ripieno::test

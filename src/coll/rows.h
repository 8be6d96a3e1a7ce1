// Collectives as rows, for an executor that reaches the buffers of all ranks and does the work of
// all of them: one GPU kernel. A row is element-wise work: it reads the same elements of all its
// inputs, and then writes them to all its outputs, so a thread that holds what it has read may
// write in place. Plain constexpr arithmetic: kernels run it as it is, and host tests check it.
//
//     all-reduce      1 row     all inputs, reduced in rank order, to all outputs
//     reduce          1 row     all inputs to the root's output
//     reduce-scatter  n rows    block r of all inputs to the output of r
//     broadcast       1 row     the root's input to all outputs
//     all-gather      n rows    the input of r to block r of all outputs
//     gather          n rows    the input of r to block r of the root's output
//     scatter         n rows    block r of the root's input to the output of r
//     all-to-all      a row for every two ranks: their two blocks change places
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/operation.h"

namespace ripieno::coll {

/// What a row does with its inputs.
enum class RowKind : std::uint8_t {
  kReduce,    ///< All inputs are reduced, and the result goes to every output.
  kCopy,      ///< The one input goes to every output.
  kExchange,  ///< Input k goes to output k.
};

struct RowPlan {
  RowKind kind;
  int rows;
  int inputs;   ///< Of each row.
  int outputs;  ///< Of each row.
};

constexpr RowPlan plan_rows(Function function, int ranks) noexcept {
  switch (function) {
    case Function::kReduce:
      return {RowKind::kReduce, 1, ranks, 1};
    case Function::kReduceScatter:
      return {RowKind::kReduce, ranks, ranks, 1};
    case Function::kBroadcast:
      return {RowKind::kCopy, 1, 1, ranks};
    case Function::kAllGather:
      return {RowKind::kCopy, ranks, 1, ranks};
    case Function::kGather:
    case Function::kScatter:
      return {RowKind::kCopy, ranks, 1, 1};
    case Function::kAlltoAll:
      return {RowKind::kExchange, ranks * (ranks + 1) / 2, 2, 2};
    default:
      return {RowKind::kReduce, 1, ranks, ranks};
  }
}

/// A place in a user's buffer: which rank's, and how many blocks into it.
struct Place {
  int rank;
  int block;
};

/// The two ranks whose blocks change places in `row` of an all-to-all; they may be the same.
struct Pair {
  int low;
  int high;
};
constexpr Pair pair_of_row(int row) noexcept {
  int high = 0;
  while (row > high) {
    row -= high + 1;
    ++high;
  }
  return {row, high};
}

/// Where input `input` of `row` lies among the ranks' send buffers.
constexpr Place input_place(Function function, int root, int row, int input) noexcept {
  switch (function) {
    case Function::kReduceScatter:
      return {input, row};
    case Function::kBroadcast:
      return {root, 0};
    case Function::kAllGather:
    case Function::kGather:
      return {row, 0};
    case Function::kScatter:
      return {root, row};
    case Function::kAlltoAll: {
      const Pair pair = pair_of_row(row);
      return input == 0 ? Place{pair.low, pair.high} : Place{pair.high, pair.low};
    }
    default:
      return {input, 0};
  }
}

/// Where output `output` of `row` lies among the ranks' receive buffers.
constexpr Place output_place(Function function, int root, int row, int output) noexcept {
  switch (function) {
    case Function::kReduce:
      return {root, 0};
    case Function::kReduceScatter:
    case Function::kScatter:
      return {row, 0};
    case Function::kAllGather:
      return {output, row};
    case Function::kGather:
      return {root, row};
    case Function::kAlltoAll: {
      const Pair pair = pair_of_row(row);
      return output == 0 ? Place{pair.high, pair.low} : Place{pair.low, pair.high};
    }
    default:
      return {output, 0};
  }
}

}  // namespace ripieno::coll

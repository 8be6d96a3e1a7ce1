// What a user asks for: one collective or one message, as values. Everything below the API speaks
// of operations.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>

#include "base/reduce.h"

namespace ripieno::coll {

/// Numbered as plugins number them.
enum class Function : std::uint8_t {
  kBroadcast = 0,
  kReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kAllReduce = 4,
  kSend = 6,
  kRecv = 7,
  kAlltoAll = 8,
  kScatter = 9,
  kGather = 10,
};

/// "AllReduce"
const char* function_name(Function function) noexcept;
/// "sum"
const char* reduce_name(ReduceKind kind) noexcept;

struct Operation {
  Function function = Function::kAllReduce;
  ncclDataType_t type = ncclFloat32;
  ReduceKind reduce = ReduceKind::kSum;
  int root = 0;  ///< Root rank, or the peer of a message.
  /// Elements of one block: of the whole buffer where ranks hold one block, of one rank's share
  /// elsewhere.
  std::size_t count = 0;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::uint64_t scalar = 0;  ///< kPreMulSum: the factor, when it is known at submission.
  const std::byte* device_scalar =
      nullptr;  ///< kPreMulSum: where to read it when the operation runs, else nullptr.
};

/// How a collective moves blocks of `count` elements: who holds how many, and whether they are
/// reduced. All collectives are instances of this table.
struct Shape {
  bool reduces;
  bool many_in;      ///< A source holds one block for every rank, else one block.
  bool many_out;     ///< A sink receives one block from every rank, else one block.
  bool root_source;  ///< Only the root's input is read.
  bool root_sink;    ///< Only the root's output is written.

  [[nodiscard]] constexpr int blocks_in(int ranks) const noexcept { return many_in ? ranks : 1; }
  [[nodiscard]] constexpr int blocks_out(int ranks) const noexcept { return many_out ? ranks : 1; }
  [[nodiscard]] constexpr bool is_source(int rank, int root) const noexcept {
    return !root_source || rank == root;
  }
  [[nodiscard]] constexpr bool is_sink(int rank, int root) const noexcept {
    return !root_sink || rank == root;
  }
};

constexpr Shape shape_of(Function function) noexcept {
  switch (function) {
    case Function::kBroadcast:
      return {.reduces = false,
              .many_in = false,
              .many_out = false,
              .root_source = true,
              .root_sink = false};
    case Function::kReduce:
      return {.reduces = true,
              .many_in = false,
              .many_out = false,
              .root_source = false,
              .root_sink = true};
    case Function::kAllGather:
      return {.reduces = false,
              .many_in = false,
              .many_out = true,
              .root_source = false,
              .root_sink = false};
    case Function::kReduceScatter:
      return {.reduces = true,
              .many_in = true,
              .many_out = false,
              .root_source = false,
              .root_sink = false};
    case Function::kAlltoAll:
      return {.reduces = false,
              .many_in = true,
              .many_out = true,
              .root_source = false,
              .root_sink = false};
    case Function::kScatter:
      return {.reduces = false,
              .many_in = true,
              .many_out = false,
              .root_source = true,
              .root_sink = false};
    case Function::kGather:
      return {.reduces = false,
              .many_in = false,
              .many_out = true,
              .root_source = false,
              .root_sink = true};
    default:
      return {.reduces = true,
              .many_in = false,
              .many_out = false,
              .root_source = false,
              .root_sink = false};
  }
}

constexpr bool is_message(Function function) noexcept {
  return function == Function::kSend || function == Function::kRecv;
}
constexpr bool has_root(Function function) noexcept {
  const Shape shape = shape_of(function);
  return !is_message(function) && (shape.root_source || shape.root_sink);
}

}  // namespace ripieno::coll

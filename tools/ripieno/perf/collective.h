// The collectives that can be measured: how a size becomes counts, where data lies out of place and
// in place, how time becomes bandwidth, and the call itself.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ripieno::tool::perf {

enum class Kind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSendRecv,
};

/// Elements of one operation.
struct Counts {
  std::uint64_t argument;  ///< What the function is called with.
  std::uint64_t sent;      ///< In a rank's send buffer.
  std::uint64_t received;  ///< In a rank's receive buffer.
  [[nodiscard]] std::uint64_t larger() const noexcept { return sent > received ? sent : received; }
};

/// Offsets, in elements, of the two sides of an in-place operation in their one buffer.
struct InPlace {
  std::uint64_t send;
  std::uint64_t receive;
};

/// One rank's call.
struct Call {
  const void* send;
  void* receive;
  std::uint64_t count;
  std::size_t element;  ///< Bytes.
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  int rank;
  int ranks;
  ncclComm_t comm;
  cudaStream_t stream;
};

/// Where the expected content of a receive buffer comes from: consecutive pieces.
struct Piece {
  std::uint64_t offset;  ///< In the receive buffer, elements.
  std::uint64_t count;
  int source;           ///< Whose input; -1: the reduction of all.
  std::uint64_t first;  ///< Where it starts in that.
};

struct Collective {
  std::string_view name;
  Kind kind;
  bool reduces;          ///< Has an operator.
  bool rooted;           ///< Has a root.
  bool split_in_parts;   ///< The size is that of all ranks' parts together, and count that of one
                         ///< part.
  bool checks_in_place;  ///< In place is a defined operation, so its result can be checked.

  /// Counts for at most `bytes` bytes. Where the size is split in parts, a part is a whole number
  /// of 16-byte lines, so small sizes may come to nothing.
  [[nodiscard]] Counts counts(std::uint64_t bytes, std::size_t element, int ranks) const;
  [[nodiscard]] InPlace in_place(const Counts& counts, int rank) const;
  /// Busbw over algbw.
  [[nodiscard]] double bus_factor(int ranks) const;
  /// Makes the call (for sendrecv, two of them in a group).
  [[nodiscard]] ncclResult_t launch(const Call& call) const;
  /// The pieces of what `rank` receives; none if it receives nothing.
  template <typename Body>
  void for_pieces(const Counts& counts, int rank, int ranks, int root, Body&& body) const;
};

[[nodiscard]] std::span<const Collective> collectives();
/// Throws UsageError with the nearest name.
[[nodiscard]] const Collective& find_collective(std::string_view name);

template <typename Body>
void Collective::for_pieces(const Counts& counts, int rank, int ranks, int root,
                            Body&& body) const {
  const std::uint64_t part = counts.argument;
  switch (kind) {
    case Kind::kAllReduce:
      body(Piece{0, part, -1, 0});
      break;
    case Kind::kReduceScatter:
      body(Piece{0, part, -1, static_cast<std::uint64_t>(rank) * part});
      break;
    case Kind::kBroadcast:
      body(Piece{0, part, root, 0});
      break;
    case Kind::kReduce:
      if (rank == root) body(Piece{0, part, -1, 0});
      break;
    case Kind::kScatter:
      body(Piece{0, part, root, static_cast<std::uint64_t>(rank) * part});
      break;
    case Kind::kSendRecv:
      body(Piece{0, part, (rank + ranks - 1) % ranks, 0});
      break;
    case Kind::kAllGather:
    case Kind::kGather:
    case Kind::kAllToAll:
      if (kind == Kind::kGather && rank != root) break;
      for (int source = 0; source < ranks; ++source) {
        const auto place = static_cast<std::uint64_t>(source);
        const std::uint64_t first =
            kind == Kind::kAllToAll ? static_cast<std::uint64_t>(rank) * part : 0;
        body(Piece{place * part, part, source, first});
      }
      break;
  }
}

}  // namespace ripieno::tool::perf

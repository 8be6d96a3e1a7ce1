// What a kernel is told: one collective, or a list of copies. Trivially copyable, passed as a
// kernel argument. The buffers come with it where one process knows them all; otherwise every rank
// has left them in its slot, in stream order, and the kernel picks them up there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/operation.h"

namespace ripieno::coll::gpu {

/// Ranks that one kernel can work for.
inline constexpr int kMostRanks = 64;
/// Threads of a block, and blocks that run on a multiprocessor together.
inline constexpr int kThreads = 512;
inline constexpr int kBlocksPerMultiprocessor = 4;
/// The widest access.
inline constexpr std::size_t kVectorBytes = 16;
/// Copies in one list.
inline constexpr int kMostCopies = 64;

/// Addresses as the executing context sees them.
struct Buffers {
  const std::byte* send;
  std::byte* receive;
  std::uint64_t scalar;        ///< kPreMulSum: this rank's factor,
  const std::byte* scalar_at;  ///< or where it lies, else nullptr.
};

/// A rank's part of a collective, written by its stream before it says that it is ready, read by
/// the executing kernel. One slot a rank suffices: the rank goes on only when all is done.
struct alignas(64) Slot {
  Buffers buffers;
  std::uint64_t count;
  std::uint64_t signature;  ///< See signature_of(): must be equal on all ranks.
};
static_assert(sizeof(Slot) == 64);

/// Written by a rank's stream and by the executing kernel: see plan/cuda/page.h.
struct alignas(64) RankFlags {
  std::uint32_t ready;
  std::uint32_t ready_line[15];
  std::uint32_t done;
  std::uint32_t done_line[15];
};
static_assert(sizeof(RankFlags) == 128);

/// Function, type, operator and root in one word; with the count, what ranks must agree about.
constexpr std::uint64_t signature_of(const Operation& operation) noexcept {
  const auto root = has_root(operation.function) ? operation.root : 0;
  const auto reduce =
      shape_of(operation.function).reduces ? static_cast<std::uint64_t>(operation.reduce) + 1 : 0;
  return static_cast<std::uint64_t>(operation.function) |
         static_cast<std::uint64_t>(operation.type) << 8 | reduce << 16 |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32;
}

/// Where a kernel reports what it cannot do. In host memory; zero at first.
struct alignas(64) Fault {
  std::uint32_t stopped;   ///< Written by the host: kernels leave the buffers alone.
  std::uint32_t raised;    ///< Stored last.
  std::uint32_t rank;      ///< Whose slot differs from the executing rank's.
  std::uint32_t one_shot;  ///< Raised by a one-shot kernel, which does not know the other's values.
  std::uint64_t count;
  std::uint64_t signature;
  std::uint64_t expected_count;
  std::uint64_t expected_signature;
};
static_assert(sizeof(Fault) == 64);

/// One collective of up to kMostRanks ranks.
struct Work {
  Function function;
  std::uint8_t type;    ///< ncclDataType_t
  std::uint8_t reduce;  ///< ReduceKind
  std::uint8_t element_bytes;
  std::int32_t ranks;
  std::int32_t root;
  std::uint32_t tiles_per_row;
  std::uint32_t vectors_per_tile;  ///< 16-byte vectors.
  std::uint32_t part;              ///< This launch is one of `parts`, which share the tiles out.
  std::uint32_t parts;
  std::uint64_t count;           ///< Elements of a block.
  const Slot* slots;             ///< nullptr: `buffers` counts.
  const std::uint32_t* stopped;  ///< With slots: Fault::stopped or a copy of it.
  Fault* fault;                  ///< With slots.
  RankFlags* flags;              ///< With slots: all but the leader's are turned at the end.
  std::uint32_t* finished;       ///< With slots: counts blocks; zero between launches.
  std::int32_t leader;
  std::uint64_t signature;  ///< With slots.
  Buffers buffers[kMostRanks];
};

struct Copy {
  const std::byte* from;
  std::byte* to;
  std::uint64_t bytes;
};

/// A message that its sender has posted: where it lies for the receiver, and how long it is.
struct PostedMessage {
  const std::byte* from;
  std::uint64_t bytes;
};

/// Copies that have nothing to do with each other.
struct CopyList {
  std::int32_t copies;
  std::uint32_t tiles_per_copy;
  Copy copy[kMostCopies];
  /// Where the sender's side of copy k is found when the kernel runs, else nullptr.
  const PostedMessage* posted[kMostCopies];
};

/// What is posted, fetched once for all blocks of the copies that follow.
struct Look {
  std::int32_t copies;
  const std::uint32_t* stopped;  ///< If it is set, the messages are empty.
  PostedMessage* near;
  const PostedMessage* posted[kMostCopies];
};

}  // namespace ripieno::coll::gpu

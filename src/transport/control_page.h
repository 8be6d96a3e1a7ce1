// The control page: one shared mapping per communicator and host, through which its ranks meet. It
// holds, for every rank, a bell to wake it, two arrival slots that carry what the rank is about to
// do (and small payloads themselves), staging space for memory that peers cannot map, and for every
// ordered pair of ranks a mailbox for messages. The mapping is a sparse memfd: only what is used
// costs memory, and nothing outlives the last process.
//
// Who writes what is said at each field. A word that others wait for is stored (after the data it
// announces) and read with sequentially consistent order: together with `sleepers` that closes the
// gap between a last look and falling asleep.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/unique_fd.h"
#include "hostrt/runtime.h"
#include "observe/flight_board.h"

namespace ripieno::transport {

/// Bytes that travel inside the arrival slot's first cache line.
inline constexpr std::size_t kArrivalInlineBytes = 40;
/// Largest payload of one rank in a one-shot operation.
inline constexpr std::size_t kOneShotBytes = std::size_t{64} << 10;
/// One piece of a staged collective, and of a staged message.
inline constexpr std::size_t kStagingBytes = std::size_t{256} << 10;
inline constexpr std::size_t kMessagePieceBytes = std::size_t{64} << 10;
/// Bytes that travel inside a mailbox slot.
inline constexpr std::size_t kMessageInlineBytes = 64;
/// What one rank brings to one step of a meeting.
inline constexpr std::size_t kMeetingBytes = 2048 - 32;

/// Where a user's buffer is, as peers see it.
struct BufferRef {
  enum class Kind : std::uint8_t {
    kNone,     ///< No buffer (NULL, or nothing to read or write).
    kArena,    ///< value = offset in the owner's shareable memory: any process can map it.
    kPrivate,  ///< value = address in the owner's process: only ranks of that process reach it.
  };
  std::uint64_t value;
  Kind kind;
};

/// What a rank is about to do: compared between ranks, and the source of addresses for the Direct
/// algorithm.
struct Announcement {
  std::uint64_t count;
  std::uint64_t scalar;    ///< kPreMulSum: this rank's factor.
  std::uint64_t send;      ///< BufferRef value
  std::uint64_t receive;   ///< BufferRef value
  std::uint64_t sequence;  ///< Ordinal of this collective on the communicator.
  std::int32_t root;
  std::uint8_t function;
  std::uint8_t type;
  std::uint8_t operation;
  BufferRef::Kind send_kind;
  BufferRef::Kind receive_kind;
  std::uint8_t must_stage;  ///< This rank's layout rules out reading its buffers in place.
  std::array<std::uint8_t, 14> unused;
};
static_assert(sizeof(Announcement) == 64);

/// Written by its rank only. `phase` is stored last; a reader that sees phase >= p sees what was
/// written before p. A slot is used for every second phase: its rank may overwrite it once every
/// peer has passed the phase in between.
struct alignas(128) ArrivalSlot {
  std::atomic<std::uint64_t> phase;
  std::uint64_t signature;  ///< Hash of the parts of the announcement that must agree.
  std::array<std::byte, kArrivalInlineBytes> small;
  std::uint64_t small_filler;
  Announcement announcement;
};
static_assert(sizeof(ArrivalSlot) == 128);

/// How a rank stands to the communicator.
enum class Presence : std::uint32_t {
  kAbsent = 0,  ///< Has not mapped the page yet.
  kJoined = 1,
  kLeft = 2,  ///< Destroyed its communicator in good order.
  kAborted = 3,
  kFailed = 4,   ///< Met an error and left its sentence in `fault`.
  kDied = 5,     ///< Its process ended without leaving; set by whoever noticed.
  kRevoked = 6,  ///< Stopped all operations for good; may still take part in meetings.
};

/// Written by its rank, except `bell` and (once its process is gone) `presence`.
struct alignas(128) RankLine {
  std::atomic<std::uint32_t> bell;  ///< Futex word; any peer adds one to wake the rank's threads.
  std::atomic<std::uint32_t>
      sleepers;  ///< Threads of the rank that sleep on `bell` or are about to.
  std::atomic<Presence> presence;
  std::int32_t process_id;
  std::int32_t fault_code;  ///< ncclResult_t behind kFailed; stored before presence.
  /// Not 0 once the rank has given up its communicator, also where `presence` still says why it
  /// failed.
  std::atomic<std::uint32_t> gone;
  std::array<char, 484> fault;
  /// Not 0 while the rank reads or writes buffers of other ranks. Stands apart from the words that
  /// every operation looks at.
  std::atomic<std::uint32_t> reaching;
};
static_assert(sizeof(RankLine) == 512);

/// How one piece of a message is delivered.
enum class Delivery : std::uint8_t {
  kInline,  ///< In the mailbox slot.
  kStaged,  ///< In the pair's staging area, at the slot's parity.
  kDirect,  ///< In the sender's own buffer, which the receiver reads.
};

/// One piece of a message. Written by the sender, `number` last.
struct alignas(128) MessageSlot {
  std::atomic<std::uint64_t> number;  ///< Pieces are numbered 1, 2, ... per ordered pair.
  std::uint64_t message_bytes;        ///< Size of the whole message.
  std::uint64_t piece_bytes;
  std::uint64_t source;  ///< BufferRef value of a kDirect piece.
  BufferRef::Kind source_kind;
  Delivery delivery;
  std::array<std::uint8_t, 30> unused;
  std::array<std::byte, kMessageInlineBytes> small;
};
static_assert(sizeof(MessageSlot) == 128);

struct alignas(128) Mailbox {
  std::array<MessageSlot, 2> slots;
  /// Pieces that the receiver has copied out; written by the receiver.
  alignas(128) std::atomic<std::uint64_t> taken;
};
static_assert(sizeof(Mailbox) == 384);

/// What a rank brings to one step of a meeting: ranks of the communicator that come together
/// outside of any stream, to make another communicator, say. Written by its rank, `mark` last.
struct alignas(64) MeetingSlot {
  std::atomic<std::uint64_t> mark;     ///< Which step of which meeting.
  std::atomic<std::uint64_t> about;    ///< What this rank meets for,
  std::atomic<std::uint64_t> company;  ///< and with whom.
  std::uint64_t size;
  std::array<std::byte, kMeetingBytes> bytes;
};
static_assert(sizeof(MeetingSlot) == 2048);

/// A rank has slots for meetings of all ranks, and others for those of some.
enum class MeetingLane : std::uint8_t { kAll = 0, kSome = 1 };

/// A mapped control page. The object owns the mapping; every rank of a process may share one.
class ControlPage {
 public:
  /// Creates the page for `ranks` ranks. Throws Error (ncclSystemError).
  static std::shared_ptr<ControlPage> create(int ranks);
  /// Maps a page that another process created. Takes the descriptor.
  static std::shared_ptr<ControlPage> open(UniqueFd fd, int ranks);

  ~ControlPage();
  ControlPage(const ControlPage&) = delete;
  ControlPage& operator=(const ControlPage&) = delete;

  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// For publishing it to other processes. It stays open, so that the user's other processes can
  /// look at the flight board.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// Says whose board this is; by one rank.
  void title_board(std::uint64_t communicator_hash, std::string_view name) const noexcept;
  [[nodiscard]] observe::FlightLine& flight_line(int rank) const noexcept {
    return flight_lines_[rank];
  }
  [[nodiscard]] RankLine& line(int rank) const noexcept { return lines_[rank]; }
  [[nodiscard]] ArrivalSlot& slot(int rank, std::uint64_t phase) const noexcept {
    return slots_[2 * rank + static_cast<int>(phase & 1)];
  }
  [[nodiscard]] std::byte* one_shot(int rank, std::uint64_t phase) const noexcept {
    return one_shot_ + (2 * static_cast<std::size_t>(rank) + (phase & 1)) * kOneShotBytes;
  }
  [[nodiscard]] std::byte* staging(int rank, std::uint64_t phase) const noexcept {
    return staging_ + (2 * static_cast<std::size_t>(rank) + (phase & 1)) * kStagingBytes;
  }
  [[nodiscard]] Mailbox& mailbox(int from, int to) const noexcept {
    return mailboxes_[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) +
                      static_cast<std::size_t>(to)];
  }
  [[nodiscard]] std::byte* message_staging(int from, int to, std::uint64_t number) const noexcept {
    const auto pair = static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) +
                      static_cast<std::size_t>(to);
    return message_staging_ + (2 * pair + (number & 1)) * kMessagePieceBytes;
  }

  /// A rank uses the two slots of a lane in turns.
  [[nodiscard]] MeetingSlot& meeting_slot(int rank, MeetingLane lane,
                                          std::uint64_t turn) const noexcept {
    return meeting_slots_[4 * static_cast<std::size_t>(rank) + 2 * static_cast<std::size_t>(lane) +
                          (turn & 1)];
  }

  /// Sleeps until the bell of `rank` rings or `timeout` passes, unless `last_look` returns true
  /// once the bell is watched.
  template <typename LastLook>
  void sleep(int rank, std::chrono::milliseconds timeout, LastLook last_look) const {
    RankLine& own = line(rank);
    const std::uint32_t seen = own.bell.load(std::memory_order_seq_cst);
    own.sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (!last_look()) {
      wait_for_bell(rank, seen, timeout);
    }
    own.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

  /// Wakes the threads of `rank` that sleep on its bell; costs one load when none does. The caller
  /// has published what they wait for with a sequentially consistent store, so either this look
  /// sees the sleeper or its last look sees that.
  void ring(int rank) const noexcept;
  /// Wakes all threads of `rank` regardless.
  void ring_always(int rank) const noexcept;

 private:
  ControlPage(UniqueFd fd, int ranks);
  void wait_for_bell(int rank, std::uint32_t seen,
                     std::chrono::milliseconds timeout) const noexcept;

  UniqueFd fd_;
  int ranks_;
  std::size_t bytes_;
  std::byte* base_;
  observe::FlightLine* flight_lines_;
  RankLine* lines_;
  ArrivalSlot* slots_;
  Mailbox* mailboxes_;
  MeetingSlot* meeting_slots_;
  std::byte* one_shot_;
  std::byte* staging_;
  std::byte* message_staging_;
};

}  // namespace ripieno::transport

// The flight board: what each rank of a communicator is doing and did last, in a mapping that all
// its ranks share and that other processes of the user may look into. It costs a rank a few stores
// an operation, in a cache line that nobody else reads until something is wrong.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ripieno::observe {

/// An operation, or several of one group. Numbers are those of the interface (types, operators) and
/// of plugins (functions).
struct FlightEntry {
  std::uint64_t collective = 0;  ///< Ordinal of a collective on the communicator; 0: none.
  std::uint64_t count = 0;
  std::uint32_t operations = 1;  ///< Of the group; the other fields are the first one's.
  std::int32_t root = 0;         ///< Or the peer of a message.
  std::uint8_t function = 0;
  std::uint8_t type = 0;
  std::uint8_t reduce = 0;
};

[[nodiscard]] bool is_message(const FlightEntry& entry) noexcept;
/// "AllReduce #12 (1024 x float32)", "Send (10 x int8, peer 3)", "a group of 4 operations, the
/// first Recv (...)".
[[nodiscard]] std::string describe(const FlightEntry& entry);
/// "AllReduce"; "function 77" where unknown.
[[nodiscard]] std::string function_name(std::uint8_t function);

/// One rank's. Written by the thread that executes its plans, read by anybody at any time: a reader
/// may catch an entry half written, and looks at the ordinals before and after.
struct alignas(128) FlightLine {
  /// A FlightEntry in words.
  using Record = std::array<std::atomic<std::uint64_t>, 4>;

  std::atomic<std::uint64_t> entered;   ///< Plans begun so far; stored after the record.
  std::atomic<std::uint64_t> finished;  ///< Plans ended so far.
  std::array<Record, 2> records;        ///< Of plan n in records[n % 2].
  std::atomic<std::int32_t> process_id;
  std::atomic<std::uint32_t> presence;  ///< transport::Presence
  std::array<std::uint64_t, 5> unused;

  void enter(const FlightEntry& entry) noexcept {
    const std::uint64_t ordinal = entered.load(std::memory_order_relaxed) + 1;
    Record& record = records[ordinal % 2];
    record[0].store(entry.collective, std::memory_order_relaxed);
    record[1].store(entry.count, std::memory_order_relaxed);
    record[2].store(
        (std::uint64_t{entry.operations} << 32) | static_cast<std::uint32_t>(entry.root),
        std::memory_order_relaxed);
    record[3].store(std::uint64_t{entry.function} | std::uint64_t{entry.type} << 8 |
                        std::uint64_t{entry.reduce} << 16,
                    std::memory_order_relaxed);
    entered.store(ordinal, std::memory_order_release);
  }
  void finish() noexcept {
    finished.store(entered.load(std::memory_order_relaxed), std::memory_order_release);
  }
};
static_assert(sizeof(FlightLine) == 128);

/// What a rank's line says at a moment.
struct FlightState {
  std::uint64_t entered;
  std::uint64_t finished;
  FlightEntry last;      ///< The one it is in, or was in last; nothing where entered is 0.
  FlightEntry previous;  ///< The one it finished before that.
  std::int32_t process_id;
  std::uint32_t presence;

  [[nodiscard]] bool is_busy() const noexcept { return entered > finished; }
};
[[nodiscard]] FlightState read(const FlightLine& line) noexcept;
/// "is in Send (10 x int8, peer 0)", "has finished AllReduce #12 (...)", "has done nothing yet".
[[nodiscard]] std::string describe(const FlightState& state);

/// What stands before the lines of all ranks: enough for a process that knows nothing else.
struct FlightHeader {
  static constexpr std::uint64_t kMagic = 0x3130'6472'616f'6272ULL;
  static constexpr std::size_t kBytes = 256;

  std::atomic<std::uint64_t> magic;  ///< Stored last.
  std::uint32_t ranks;
  std::uint32_t line_bytes;
  std::uint64_t hash;  ///< The communicator's.
  std::int64_t begin;  ///< Seconds since the epoch.
  std::array<char, 128> name;
  std::array<std::byte, 96> unused;
};
static_assert(sizeof(FlightHeader) == FlightHeader::kBytes);

/// Bytes of the board of `ranks` ranks.
[[nodiscard]] constexpr std::size_t board_bytes(std::size_t ranks) noexcept {
  return FlightHeader::kBytes + ranks * sizeof(FlightLine);
}

/// Name of the memory files that begin with a board, as /proc shows it.
inline constexpr const char* kBoardFile = "ripieno-control";

}  // namespace ripieno::observe

// Reading lines, and putting entries in words.
#include "observe/flight_board.h"

#include <fmt/format.h>

#include "base/reduce.h"

namespace ripieno::observe {
namespace {

constexpr std::uint8_t kSend = 6;
constexpr std::uint8_t kRecv = 7;

FlightEntry read(const FlightLine::Record& record) noexcept {
  const std::uint64_t who = record[2].load(std::memory_order_relaxed);
  const std::uint64_t what = record[3].load(std::memory_order_relaxed);
  return {.collective = record[0].load(std::memory_order_relaxed),
          .count = record[1].load(std::memory_order_relaxed),
          .operations = static_cast<std::uint32_t>(who >> 32),
          .root = static_cast<std::int32_t>(who),
          .function = static_cast<std::uint8_t>(what),
          .type = static_cast<std::uint8_t>(what >> 8),
          .reduce = static_cast<std::uint8_t>(what >> 16)};
}

}  // namespace

bool is_message(const FlightEntry& entry) noexcept {
  return entry.function == kSend || entry.function == kRecv;
}

std::string function_name(std::uint8_t function) {
  constexpr std::array<const char*, 11> kNames{
      "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv",
      "Send",      "Recv",   "AlltoAll",  "Scatter",       "Gather"};
  return function < kNames.size() ? kNames[function] : fmt::format("function {}", function);
}

std::string describe(const FlightEntry& entry) {
  std::string text = function_name(entry.function);
  if (entry.collective != 0) {
    text += fmt::format(" #{}", entry.collective);
  }
  text += fmt::format(" ({} x {}", entry.count, type_name(static_cast<ncclDataType_t>(entry.type)));
  text += is_message(entry) ? fmt::format(", peer {})", entry.root) : ")";
  if (entry.operations > 1) {
    return fmt::format("a group of {} operations, the first {}", entry.operations, text);
  }
  return text;
}

FlightState read(const FlightLine& line) noexcept {
  FlightState state{};
  // A plan that begins meanwhile may overwrite what is being read: look again then.
  for (int attempt = 0; attempt < 10; ++attempt) {
    state.finished = line.finished.load(std::memory_order_acquire);
    state.entered = line.entered.load(std::memory_order_acquire);
    state.last = read(line.records[state.entered % 2]);
    state.previous = read(line.records[(state.entered + 1) % 2]);
    if (line.entered.load(std::memory_order_acquire) == state.entered) {
      break;
    }
  }
  state.process_id = line.process_id.load(std::memory_order_relaxed);
  state.presence = line.presence.load(std::memory_order_relaxed);
  return state;
}

std::string describe(const FlightState& state) {
  if (state.entered == 0) {
    return "has done nothing yet";
  }
  return (state.is_busy() ? "is in " : "has finished ") + describe(state.last);
}

}  // namespace ripieno::observe

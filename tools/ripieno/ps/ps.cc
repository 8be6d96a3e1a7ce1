// `ripieno ps`: what the ranks of live communicators on this host are doing, read from their flight
// boards without disturbing them.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "command_line.h"
#include "observe/board_files.h"

namespace ripieno::tool {
namespace {

using nlohmann::ordered_json;
using observe::Board;
using observe::FlightEntry;
using observe::FlightState;

constexpr const char* kDescription =
    "Shows what the ranks of all live communicators on this host are doing: those of\n"
    "processes that you may look at.";

constexpr const char* kFooter =
    "A rank is in an operation from the moment at which its stream comes to it, or\n"
    "has finished one and waits for the next. Ranks that others wait for show by\n"
    "smaller numbers of operations.\n\n"
    "Examples:\n"
    "  ripieno ps\n"
    "  ripieno ps --json | jq '.communicators[].ranks[] | select(.busy)'";

bool is_alive(int process) {
  return kill(process, 0) == 0 || errno == EPERM;
}

/// What became of a rank, in a word; the numbers are those of transport::Presence.
std::string presence_text(const FlightState& rank) {
  constexpr std::array<const char*, 7> kWords{"joining", "live", "left",   "aborted",
                                              "failed",  "died", "revoked"};
  if (rank.presence == 1 && !is_alive(rank.process_id)) {
    return "died";
  }
  return rank.presence < kWords.size() ? kWords[rank.presence] : "?";
}

void print_board(const Board& board) {
  const std::string name = board.name.empty() ? "" : fmt::format(" '{}'", board.name);
  fmt::print("communicator {:#018x}{}  {} ranks  since {:%Y-%m-%d %H:%M:%S}\n", board.hash, name,
             board.ranks.size(), fmt::localtime(board.begin));
  fmt::print("{:>6} {:>9}  {:<8} {:>11}  {}\n", "rank", "process", "state", "operations", "last");
  for (std::size_t rank = 0; rank < board.ranks.size(); ++rank) {
    const FlightState& state = board.ranks[rank];
    fmt::print("{:>6} {:>9}  {:<8} {:>11}  {}\n", rank, state.process_id, presence_text(state),
               state.finished, observe::describe(state));
  }
}

ordered_json json_of(const FlightEntry& entry) {
  ordered_json json = {{"function", observe::function_name(entry.function)},
                       {"text", observe::describe(entry)},
                       {"count", entry.count},
                       {"type", entry.type},
                       {"operations", entry.operations}};
  if (entry.collective != 0) {
    json["sequence"] = entry.collective;
  }
  json[observe::is_message(entry) ? "peer" : "root"] = entry.root;
  return json;
}

ordered_json json_of(const Board& board) {
  ordered_json ranks = ordered_json::array();
  for (std::size_t rank = 0; rank < board.ranks.size(); ++rank) {
    const FlightState& state = board.ranks[rank];
    ordered_json json = {{"rank", rank},
                         {"process", state.process_id},
                         {"state", presence_text(state)},
                         {"busy", state.is_busy()},
                         {"entered", state.entered},
                         {"finished", state.finished}};
    if (state.entered > 0) {
      json["last_entered"] = json_of(state.last);
    }
    if (state.finished > 0) {
      json["last_finished"] = json_of(state.is_busy() ? state.previous : state.last);
    }
    ranks.push_back(std::move(json));
  }
  return {{"hash", fmt::format("{:#018x}", board.hash)},
          {"name", board.name},
          {"begin", board.begin},
          {"ranks", std::move(ranks)}};
}

}  // namespace

int ps_command(int count, char** arguments) {
  bool json = false;
  CLI::App app(kDescription, "ripieno ps");
  app.add_flag("--json", json, "Print JSON instead of a table");
  app.footer(kFooter);
  if (!parse_command_line(app, "[OPTIONS]", count, arguments)) return kExitOk;
  const std::vector<Board> boards = observe::find_boards();
  if (json) {
    ordered_json list = ordered_json::array();
    for (const Board& board : boards) {
      list.push_back(json_of(board));
    }
    fmt::print("{}\n", ordered_json{{"communicators", std::move(list)}}.dump(2));
    return kExitOk;
  }
  for (const Board& board : boards) {
    print_board(board);
  }
  if (boards.empty()) {
    fmt::print("No live communicators that may be looked at.\n");
  }
  return kExitOk;
}

}  // namespace ripieno::tool

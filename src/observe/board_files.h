// Finds the flight boards of this host's processes from outside: a process keeps the file that
// begins with its board open, and those who may look at the process find it in /proc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/flight_board.h"

namespace ripieno::observe {

struct Board {
  std::uint64_t hash;
  std::string name;
  std::int64_t begin;  ///< Seconds since the epoch.
  std::vector<FlightState> ranks;
};

/// Boards of all processes that may be looked at, each once, oldest first. Files that are no boards
/// of this version are left out.
[[nodiscard]] std::vector<Board> find_boards();
/// The board at the beginning of an open file; nothing is believed of what it holds. Throws Error.
[[nodiscard]] Board read_board(int fd);

}  // namespace ripieno::observe

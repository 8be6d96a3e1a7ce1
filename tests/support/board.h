// Memory that the test and all processes of a run share. It is mapped before the launcher is
// forked, so it lies at the same address everywhere.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "support/placement.h"

namespace ripieno::test {

/// Zeroed before each run.
struct Board {
  static constexpr int kIds = 32;

  std::array<ncclUniqueId, kIds> ids;
  std::array<std::atomic<std::uint32_t>, kIds> id_is_there;
  std::atomic<std::uint64_t> arrivals;                   ///< At barriers of the whole run.
  std::array<std::atomic<int>, kMostRanks> process_ids;  ///< By process ordinal.
  std::array<std::atomic<std::uint64_t>, 64> words;      ///< For the test's own use.
};

/// The one board of this executable.
Board& board();
/// Maps the board; called once, first thing in main().
void map_board();
void clear_board();

/// Polls until `condition` holds. Throws std::runtime_error naming `what` when that takes longer
/// than `limit`.
void wait_until(const std::function<bool()>& condition, const char* what,
                std::chrono::seconds limit = std::chrono::seconds{60});

}  // namespace ripieno::test

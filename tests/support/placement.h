// Where the ranks of a test live.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace ripieno::test {

inline constexpr int kMostRanks = 16;

/// Trivially copyable: it travels to other processes as bytes.
struct Placement {
  std::array<char, 40> name{};
  int ranks = 0;
  int devices = 8;  ///< Rank r sits on device r % devices.
  std::array<std::int8_t, kMostRanks> process{};
  std::array<std::int8_t, kMostRanks> thread{};  ///< Ordinal of the thread in its process.

  [[nodiscard]] int processes() const {
    return 1 + *std::max_element(process.begin(), process.begin() + ranks);
  }
  [[nodiscard]] int threads_of(int of_process) const {
    int threads = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      if (process[static_cast<std::size_t>(rank)] == of_process) {
        threads = std::max(threads, 1 + thread[static_cast<std::size_t>(rank)]);
      }
    }
    return threads;
  }
  /// Threads of all processes.
  [[nodiscard]] int parties() const {
    int parties = 0;
    for (int one = 0; one < processes(); ++one) {
      parties += threads_of(one);
    }
    return parties;
  }
};

inline std::string to_string(const Placement& placement) {
  return placement.name.data();
}
inline std::ostream& operator<<(std::ostream& out, const Placement& placement) {
  return out << to_string(placement);
}

template <typename Place>
Placement make_placement(std::string_view kind, int ranks, Place place) {
  Placement placement;
  placement.ranks = ranks;
  const std::string name = std::string(kind) + std::to_string(ranks);
  std::copy(name.begin(), name.end(), placement.name.begin());
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [process, thread] = place(rank);
    placement.process[static_cast<std::size_t>(rank)] = static_cast<std::int8_t>(process);
    placement.thread[static_cast<std::size_t>(rank)] = static_cast<std::int8_t>(thread);
  }
  return placement;
}

/// One process, a thread for every rank.
inline Placement in_threads(int ranks) {
  return make_placement("threads", ranks, [](int rank) { return std::pair(0, rank); });
}
/// One process whose only thread drives all ranks.
inline Placement in_one_thread(int ranks) {
  return make_placement("one_thread", ranks, [](int) { return std::pair(0, 0); });
}
/// A process for every rank.
inline Placement in_processes(int ranks) {
  return make_placement("processes", ranks, [](int rank) { return std::pair(rank, 0); });
}
/// Two processes that take turns in getting a rank, and whose threads drive up to two ranks each.
inline Placement mixed(int ranks) {
  return make_placement("mixed", ranks, [](int rank) { return std::pair(rank % 2, rank / 4); });
}
/// The same with all ranks on device 0.
inline Placement on_one_device(Placement placement) {
  placement.devices = 1;
  const std::string name = to_string(placement) + "_on_one_device";
  std::copy(name.begin(), name.end(), placement.name.begin());
  return placement;
}

}  // namespace ripieno::test

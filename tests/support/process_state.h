// What a process holds at a moment: to show that nothing is left behind.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <ostream>
#include <string>

namespace ripieno::test {

struct ProcessState {
  std::map<std::string, int> descriptors;  ///< How many of each kind of open file.
  std::map<std::string, int> threads;      ///< How many of each name.
  int shared_mappings = 0;                 ///< Of memory files.
  std::size_t mapped_bytes = 0;            ///< Of those.
  int shared_memory_files = 0;             ///< Entries of /dev/shm.
  int children = 0;

  [[nodiscard]] static ProcessState now();
  /// now(), once it has stopped changing: threads that were told to end need a moment.
  [[nodiscard]] static ProcessState at_rest();
  friend bool operator==(const ProcessState&, const ProcessState&) = default;
  friend std::ostream& operator<<(std::ostream& out, const ProcessState& state);
};

/// Threads that have been told to end may need a moment: waits for `state`, then compares.
void expect_state_again(const ProcessState& before,
                        std::chrono::seconds limit = std::chrono::seconds{5});

}  // namespace ripieno::test

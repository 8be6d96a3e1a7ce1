// Reads /proc/self.
#include "support/process_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/check.h"

namespace ripieno::test {
namespace {

namespace fs = std::filesystem;

/// Adds up the mappings of memory files.
void count_mappings(ProcessState& state) {
  std::ifstream lines("/proc/self/maps");
  for (std::string line; std::getline(lines, line);) {
    if (line.find("/memfd:") != std::string::npos) {
      const std::size_t dash = line.find('-');
      ++state.shared_mappings;
      state.mapped_bytes += std::stoull(line.substr(dash + 1), nullptr, 16) -
                            std::stoull(line.substr(0, dash), nullptr, 16);
    }
  }
}

/// "socket:[123]" and "/memfd:name (deleted)" without what differs from one to the next.
std::string kind_of(const fs::path& link) {
  std::error_code gone;
  std::string target = fs::read_symlink(link, gone).string();
  return gone ? "" : target.substr(0, target.find('['));
}

}  // namespace

ProcessState ProcessState::now() {
  ProcessState state;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    const std::string kind = kind_of(entry.path());
    // The directory that is being read is open too.
    if (!kind.empty() && kind.find("/proc/") != 0) {
      ++state.descriptors[kind];
    }
  }
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    if (std::getline(file, name)) {
      ++state.threads[name];
    }
    std::ifstream children(entry.path() / "children");
    for (std::string child; children >> child;) {
      ++state.children;
    }
  }
  count_mappings(state);
  for (const auto& entry : fs::directory_iterator("/dev/shm")) {
    static_cast<void>(entry);
    ++state.shared_memory_files;
  }
  return state;
}

std::ostream& operator<<(std::ostream& out, const ProcessState& state) {
  out << "descriptors:";
  for (const auto& [kind, count] : state.descriptors) {
    out << " " << count << " x " << kind;
  }
  out << "; threads:";
  for (const auto& [name, count] : state.threads) {
    out << " " << count << " x " << name;
  }
  return out << "; " << state.shared_mappings << " shared mappings of " << state.mapped_bytes
             << " bytes, " << state.shared_memory_files << " files in /dev/shm, " << state.children
             << " children";
}

ProcessState ProcessState::at_rest() {
  constexpr int kEqualLooks = 10;
  constexpr int kMostLooks = 500;
  ProcessState last = now();
  for (int look = 0, equal = 0; look < kMostLooks && equal < kEqualLooks; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    ProcessState state = now();
    equal = state == last ? equal + 1 : 0;
    last = std::move(state);
  }
  return last;
}

void expect_state_again(const ProcessState& before, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit * kSlowdown;
  ProcessState after = ProcessState::now();
  while (!(after == before) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    after = ProcessState::now();
  }
  EXPECT_EQ(after, before);
}

}  // namespace ripieno::test

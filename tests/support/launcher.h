// The helper process that forks the processes of each run. It is forked from main() while that has
// one thread and has not touched the library, and does nothing but fork and wait: its children are
// as clean as freshly started programs, and since they share its image a body can be sent to them
// as the bytes of its closure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace ripieno::test {

struct RunOptions {
  /// "NAME=value" entries that are set before a process does anything.
  std::vector<std::string> environment;
  /// Processes that must end by SIGKILL; all others must exit with 0.
  std::vector<int> killed;
  std::chrono::seconds limit{120};
};

/// A closure as bytes, and the function that runs it in process number `process`.
struct Job {
  void (*invoke)(const void* closure, int process);
  const void* closure;
  std::size_t bytes;
};

/// Forks the launcher; called once, in main().
void start_launcher();
/// Lets the launcher end.
void stop_launcher();

/// Runs `job` in `processes` processes and waits for them. What goes wrong there becomes a failure
/// of the running test.
void launch(int processes, const Job& job, const RunOptions& options);

}  // namespace ripieno::test

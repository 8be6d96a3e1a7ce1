// The ranks of one thread, driven together: launches in groups where there are several, timing, and
// checked runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "perf/rank.h"

namespace ripieno::tool::perf {

/// What a thread found out about one case, in or out of place.
struct Measured {
  std::chrono::duration<double> each{0};  ///< Time of one operation.
  std::vector<std::uint64_t> wrong;       ///< By rank of this thread.
};

class Worker {
 public:
  Worker(const Settings& settings, std::vector<std::unique_ptr<Rank>> ranks);

  [[nodiscard]] const std::vector<std::unique_ptr<Rank>>& ranks() const noexcept { return ranks_; }

  /// Warm-up, timed iterations, then checked runs with fresh data. All workers of the measurement
  /// call this at once.
  [[nodiscard]] Measured measure(const Case& measured, bool in_place, std::uint64_t seed);

 private:
  void launch_once();
  void wait_all();
  void barrier();
  [[nodiscard]] std::chrono::duration<double> time_launches();
  [[nodiscard]] std::chrono::duration<double> time_graph();
  [[nodiscard]] std::vector<cudaGraphExec_t> capture_iterations();

  const Settings& settings_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace ripieno::tool::perf

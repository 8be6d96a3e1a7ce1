// What `ripieno perf` was asked to do. Letters and long names are those of NCCL's benchmarks, so
// that scripts carry over.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perf/collective.h"
#include "perf/types.h"

namespace ripieno::tool::perf {

/// Over which ranks a time is taken.
enum class TimeOf { kRankZero = 0, kAverage = 1, kMinimum = 2, kMaximum = 3 };

/// What is done to the buffers before use.
enum class Registration { kNone = 0, kLocal = 1, kWindow = 2 };

struct Settings {
  const Collective* collective = nullptr;
  std::vector<DataType> types;
  std::vector<Operator> operators;

  std::uint64_t first_bytes = 32U << 20;
  std::uint64_t last_bytes = 32U << 20;
  std::uint64_t step_bytes = 1U << 20;
  double step_factor = 1;  ///< At most 1: step by bytes.

  int iterations = 20;
  int aggregated = 1;  ///< Operations in one group.
  int warm_ups = 1;
  int root = 0;  ///< -1: every one in turn.
  int checks = 1;
  int graph_launches = 0;
  bool blocking = false;
  bool parallel_init = false;
  TimeOf time_of = TimeOf::kAverage;
  Registration registration = Registration::kNone;
  std::chrono::seconds timeout{0};  ///< 0: none.

  int processes = 1;  ///< To fork.
  int threads = 1;    ///< A process.
  int devices = 1;    ///< Ranks a thread.
  std::string json_file;

  /// Ranks in one process.
  [[nodiscard]] int local_ranks() const noexcept { return threads * devices; }
  /// The sizes to measure, smallest first.
  [[nodiscard]] std::vector<std::uint64_t> sizes() const;
};

/// Reads the command line (arguments[0] is the subcommand). Nothing if it only asked for help,
/// which is then printed. Throws UsageError.
[[nodiscard]] std::optional<Settings> parse_settings(int count, const char* const* arguments);

}  // namespace ripieno::tool::perf

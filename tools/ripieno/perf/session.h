// One process's part in a measurement, from the unique id to the last line of the table.
#pragma once

#include <barrier>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "perf/json_report.h"
#include "perf/placement.h"
#include "perf/progress.h"
#include "perf/table.h"
#include "perf/team.h"
#include "perf/watchdog.h"
#include "perf/worker.h"

namespace ripieno::tool::perf {

/// What a rank reports of one case; sent between processes as it is.
struct Report {
  double seconds[2] = {0, 0};  ///< Out of place, in place.
  std::uint64_t wrong[2] = {0, 0};
};

class Session {
 public:
  /// `local_process` numbers the processes of this host; it chooses devices. `json` may be nullptr.
  Session(const Settings& settings, int local_process, Team team, JsonFile* json);

  /// Does it all and returns the exit code. A failure is told on stderr and ends the process at
  /// once: streams of ranks that wait for a failed one might never come to rest.
  [[nodiscard]] int run();

 private:
  void validate() const;
  void make_ranks();
  void share_id();
  /// Initialises the communicators of some workers, together.
  void join(std::span<const std::unique_ptr<Worker>> workers);
  void print_head();
  [[nodiscard]] std::vector<Case> make_cases() const;
  void measure_all();
  /// The part of one thread; thread 0 also gathers and prints.
  void work(int thread, const std::vector<Case>& cases);
  void finish_case(const Case& measured);
  [[nodiscard]] Row make_row(const Case& measured, std::span<const Report> reports) const;
  [[nodiscard]] double time_over(std::span<const Report> reports, int half) const;
  [[nodiscard]] int finish();

  /// all_gather of trivially copyable records, by rank.
  template <typename Record>
  [[nodiscard]] std::vector<Record> gather(const std::vector<Record>& mine);

  const Settings& settings_;
  int local_process_;
  Team team_;
  JsonFile* json_;
  int ranks_;
  int nccl_version_ = 0;
  ncclUniqueId id_{};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::barrier<> threads_;
  std::vector<Report>
      reports_;  ///< Of this process; each thread writes its own between two arrivals at threads_.
  Watchdog watchdog_;
  Progress progress_;

  // Process 0 only.
  std::vector<RankPlace> places_;
  std::vector<Row> rows_;
  Totals totals_;
};

}  // namespace ripieno::tool::perf

// The table on standard output, in the columns that users of NCCL's benchmarks and their scripts
// know. Lines that hold no figures begin with '#'.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "perf/row.h"
#include "perf/settings.h"

namespace ripieno::tool::perf {

/// A rank as the head of the table names it.
struct RankPlace {
  std::string host;
  int process_id = 0;
  int device = 0;
  std::string bus_id;
  std::string device_name;
};

/// What the figures at the end are made of.
struct Totals {
  std::uint64_t bad_results = 0;  ///< Measurements with a wrong element or a damaged guard zone.
  double bus_gbps_sum = 0;
  std::uint64_t figures = 0;

  void add(const Row& row);
};

[[nodiscard]] std::string table_head(const Settings& settings, std::span<const RankPlace> ranks,
                                     int nccl_version);
[[nodiscard]] std::string table_row(const Row& row);
[[nodiscard]] std::string table_foot(const Totals& totals);

}  // namespace ripieno::tool::perf

// One line of the result: what was measured and what came out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ripieno::tool::perf {

struct Figures {
  double time_us = 0;
  double algorithm_gbps = 0;
  double bus_gbps = 0;
  std::optional<std::uint64_t> wrong;  ///< Nothing where it was not checked.
};

struct Row {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::string_view type;
  std::string_view op;
  int root = -1;
  Figures out_of_place;
  Figures in_place;
};

}  // namespace ripieno::tool::perf

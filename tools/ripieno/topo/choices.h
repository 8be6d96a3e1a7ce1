// What the cost model chooses on a subject, by function and size: for people, and as data for JSON
// and the page.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "topo/subject.h"

namespace ripieno::tool {

/// A table for every function; needs the subject's graphs. Throws UsageError where there are
/// several hosts and no network.
[[nodiscard]] std::string choices_text(const Subject& subject);
/// The choice at each size, by function.
[[nodiscard]] nlohmann::ordered_json choices_json(const Subject& subject);
/// The predicted bus bandwidth of every algorithm and protocol at every power of two, and which one
/// is chosen.
[[nodiscard]] nlohmann::ordered_json curves_json(const Subject& subject);

}  // namespace ripieno::tool

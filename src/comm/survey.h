// The machine below a communicator's ranks: its topology, the graphs found in it, and rings and
// trees over the ranks. Ranks that share a device stand beside each other.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "connect/host_links.h"
#include "graph/graph_xml.h"
#include "graph/join.h"
#include "topo/detect.h"
#include "topo/paths.h"

namespace ripieno::comm {

struct Survey {
  topo::Machine machine{};
  std::optional<topo::PathTable> paths{};  ///< Points into `machine`: the survey does not move.
  graph::GraphSet graphs{};                ///< Over devices.
  graph::JoinedGraphs joined{};            ///< Over ranks.
};

/// Whether somebody asks for it: a log line, a file to write or to read.
[[nodiscard]] bool survey_is_wanted() noexcept;
/// Detects, searches, and writes the files that the variables name. Throws Error for a graph file
/// that cannot be used.
[[nodiscard]] std::unique_ptr<Survey> make_survey(int rank,
                                                  std::span<const connect::PeerInfo> peers);
/// `Ring 00 : …`, `Trees [0] …` and what else one looks for in a log.
void log_survey(const Survey& survey, int rank);

}  // namespace ripieno::comm

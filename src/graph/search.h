// The graphs of a host or NVLink domain. Offline as well as in a communicator: all it needs is a
// system and what the variables allow.
#pragma once

#include "graph/graph.h"
#include "topo/paths.h"

namespace ripieno::graph {

struct SearchOptions {
  Scope scope = Scope::kIntra;
  int least_channels = 1;
  int most_channels = 32;
  int cross_nic = 2;
  bool nvls = true;
  bool collnet = true;  ///< Search CollNet graphs where the scope is inter.

  /// From NCCL_CROSS_NIC and NCCL_NVLS_ENABLE.
  [[nodiscard]] static SearchOptions from_parameters(Scope scope);
};

/// All graphs of the scope. The same system gives the same graphs on every machine.
[[nodiscard]] GraphSet search_graphs(const topo::PathTable& paths, const SearchOptions& options);

/// The graphs of a set, those that exist, in a fixed order.
[[nodiscard]] std::vector<const Graph*> graphs_of(const GraphSet& set);

}  // namespace ripieno::graph

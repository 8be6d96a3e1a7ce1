// Upper bounds on what any set of channels can carry, from flows and cuts: no walk can beat the
// narrowest cut of the machine, whichever order it visits the GPUs in. Channels are whole, too: a
// link of 40 GB/s carries one channel of 25, not one and a half.
#pragma once

#include "graph/graph.h"
#include "graph/load_model.h"

namespace ripieno::graph {

struct Bounds {
  double inter = 0.0;  ///< On channels x bw_inter; as intra where there is no network.
  double intra = 0.0;  ///< On channels x bw_intra.
};

/// What the bound is asked for: rings (closed inside a host, open between hosts) or chains, of a
/// number of channels, with hops and network routes of these types or nearer.
struct BoundRequest {
  Pattern pattern = Pattern::kRing;
  Scope scope = Scope::kIntra;
  topo::PathType intra = topo::PathType::kSystem;
  topo::PathType inter = topo::PathType::kSystem;
  int least_channels = 1;
  int most_channels = 32;
};

[[nodiscard]] Bounds bounds_of(const LoadModel& model, const BoundRequest& request);

}  // namespace ripieno::graph

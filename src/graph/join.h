// From the graphs of every host to rings and trees over all ranks. Hosts may differ in size and in
// what they found: the fewest channels and the least speed of any host hold for all, and a host
// without a network graph still takes its place in the order of its ranks.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace ripieno::graph {

/// What one host contributes, in global ranks. All ranks hold the same list of these.
struct HostGraphs {
  std::vector<int> ranks{};  ///< By position in the host's System::gpus().
  Graph ring{};
  Graph tree{};
};

struct TreeLinks {
  int up = -1;
  std::array<int, 3> down = {-1, -1, -1};
};

struct JoinedGraphs {
  int channels = 0;  ///< Rings and trees: twice what the hosts agreed on.
  std::vector<std::vector<int>>
      rings{};  ///< Per channel: ranks in order, the last sends to the first.
  std::vector<std::vector<TreeLinks>> trees{};  ///< Per channel, by rank.
  double ring_bw_intra = 0.0;                   ///< The least of all hosts.
  double ring_bw_inter = 0.0;
  double tree_bw_intra = 0.0;
  double tree_bw_inter = 0.0;
  topo::PathType type_intra = topo::PathType::kLocal;  ///< The farthest of all hosts.
  topo::PathType type_inter = topo::PathType::kLocal;
  /// What was odd, in words: a host without a network, unequal numbers of channels.
  std::vector<std::string> remarks{};
};

/// Ring `c` passes the hosts in order, each by its channel `c`; where channels swap their cards in
/// pairs, odd hosts use the other of the pair, so that a ring stays on its rails. Trees `c` and
/// `c + channels/2` are the two of a double binary tree over hosts, inside them a chain.
/// Throws Error (ncclInvalidArgument) if ranks are missing or given twice.
[[nodiscard]] JoinedGraphs join_hosts(std::span<const HostGraphs> hosts);

}  // namespace ripieno::graph

#include "graph/join.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "graph/trees.h"

namespace ripieno::graph {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

int total_ranks(std::span<const HostGraphs> hosts) {
  std::size_t total = 0;
  for (const HostGraphs& host : hosts) total += host.ranks.size();
  std::vector<bool> seen(total, false);
  for (const HostGraphs& host : hosts) {
    for (const int rank : host.ranks) {
      if (rank < 0 || at(rank) >= total || seen[at(rank)]) {
        throw Error(ncclInvalidArgument,
                    "cannot join {} hosts: rank {} is {} (there are {} ranks in all)", hosts.size(),
                    rank, rank < 0 || at(rank) >= total ? "out of range" : "given twice", total);
      }
      seen[at(rank)] = true;
    }
  }
  return static_cast<int>(total);
}

/// The least over all hosts; a host with a single rank and no graph does not hold back the others'
/// inner speed.
class Minima {
 public:
  Minima(std::span<const HostGraphs> hosts, JoinedGraphs& joined) : joined_(joined) {
    double least = std::numeric_limits<double>::infinity();
    joined.ring_bw_intra = joined.ring_bw_inter = least;
    joined.tree_bw_intra = joined.tree_bw_inter = least;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    std::size_t most = 0;
    int number = 0;
    for (const HostGraphs& host : hosts) {
      if (host.ranks.empty()) continue;
      const std::size_t channels = std::min(host.ring.channels.size(), host.tree.channels.size());
      if (channels == 0) {
        joined.remarks.push_back(
            fmt::format("host {} (rank {}) found no channels; its ranks are joined in order",
                        number, host.ranks.front()));
      }
      fewest = std::min(fewest, channels);
      most = std::max(most, channels);
      add(host);
      ++number;
    }
    if (number == 0) fewest = 0;
    if (fewest != most && fewest > 0) {
      joined.remarks.push_back(
          fmt::format("hosts found from {} to {} channels; all use {}", fewest, most, fewest));
    }
    channels_ = number == 0 ? 0 : static_cast<int>(std::max<std::size_t>(fewest, 1));
    for (double* speed : {&joined.ring_bw_intra, &joined.ring_bw_inter, &joined.tree_bw_intra,
                          &joined.tree_bw_inter}) {
      if (*speed == least) *speed = 0.0;
    }
  }
  [[nodiscard]] int channels() const noexcept { return channels_; }

 private:
  void add(const HostGraphs& host) {
    const auto take = [](double& least, double speed) { least = std::min(least, speed); };
    if (!host.ring.channels.empty()) {
      take(joined_.ring_bw_intra, host.ring.bw_intra);
      take(joined_.ring_bw_inter, host.ring.bw_inter);
    }
    if (!host.tree.channels.empty()) {
      take(joined_.tree_bw_intra, host.tree.bw_intra);
      take(joined_.tree_bw_inter, host.tree.bw_inter);
    }
    joined_.type_intra = std::max({joined_.type_intra, host.ring.type_intra, host.tree.type_intra});
    joined_.type_inter = std::max({joined_.type_inter, host.ring.type_inter, host.tree.type_inter});
  }

  JoinedGraphs& joined_;
  int channels_ = 0;
};

/// A host's ranks in the order of one of its channels; in their own order where it has none.
std::vector<int> ranks_of(const HostGraphs& host, const Graph& graph, int channel) {
  if (graph.channels.empty()) return host.ranks;
  std::vector<int> ranks;
  const Channel& walk = graph.channels[at(channel) % graph.channels.size()];
  for (const int gpu : walk.gpus) ranks.push_back(host.ranks[at(gpu)]);
  return ranks;
}

std::vector<int> join_ring(std::span<const HostGraphs* const> hosts, int channel, int channels) {
  std::vector<int> ring;
  for (std::size_t index = 0; index < hosts.size(); ++index) {
    const HostGraphs& host = *hosts[index];
    int use = channel;
    const int partner = channel ^ 1;
    if (host.ring.cross_nic == 2 && index % 2 == 1 && partner < channels) use = partner;
    const std::vector<int> ranks = ranks_of(host, host.ring, use);
    ring.insert(ring.end(), ranks.begin(), ranks.end());
  }
  return ring;
}

void add_child(TreeLinks& links, int child) {
  for (int& down : links.down) {
    if (down >= 0) continue;
    down = child;
    return;
  }
}

/// Where a host's chain takes in children from other hosts: the first takes the upper child, its
/// second GPU the lower one, if the shape spreads the network's traffic over both.
int child_port(const std::vector<int>& chain, Pattern pattern, bool lower) {
  const bool split = pattern == Pattern::kSplitTree;
  const bool spread = pattern == Pattern::kBalancedTree && lower;
  return chain.size() > 1 && (split || spread) ? chain[1] : chain[0];
}

std::vector<TreeLinks> join_tree(std::span<const HostGraphs* const> hosts, int channel, bool second,
                                 int ranks) {
  std::vector<TreeLinks> tree(at(ranks));
  std::vector<std::vector<int>> chains;
  for (const HostGraphs* host : hosts) {
    chains.push_back(ranks_of(*host, host->tree, channel));
    const std::vector<int>& chain = chains.back();
    for (std::size_t index = 1; index < chain.size(); ++index) {
      tree[at(chain[index])].up = chain[index - 1];
      add_child(tree[at(chain[index - 1])], chain[index]);
    }
  }
  const auto count = static_cast<int>(hosts.size());
  for (int index = 0; index < count; ++index) {
    const BinaryNode node =
        second ? second_tree_node(count, index) : binary_tree_node(count, index);
    for (const int child : node.down) {
      if (child < 0) continue;
      const bool lower = node.down[1] >= 0 && child == node.down[0];
      const int port = child_port(chains[at(index)], hosts[at(index)]->tree.pattern, lower);
      const int head = chains[at(child)].front();
      tree[at(head)].up = port;
      add_child(tree[at(port)], head);
    }
  }
  return tree;
}

}  // namespace

JoinedGraphs join_hosts(std::span<const HostGraphs> hosts) {
  JoinedGraphs joined;
  const int ranks = total_ranks(hosts);
  const Minima minima(hosts, joined);
  std::vector<const HostGraphs*> present;
  for (const HostGraphs& host : hosts) {
    if (!host.ranks.empty()) present.push_back(&host);
  }
  const int channels = minima.channels();
  joined.channels = 2 * channels;
  for (int channel = 0; channel < joined.channels; ++channel) {
    const bool second = channel >= channels;
    joined.rings.push_back(second ? joined.rings[at(channel - channels)]
                                  : join_ring(present, channel, channels));
    joined.trees.push_back(join_tree(present, channel % channels, second, ranks));
  }
  return joined;
}

}  // namespace ripieno::graph

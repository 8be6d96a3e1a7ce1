// Rings and trees over many hosts, and hosts that do not match.
#include "graph/join.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/error.h"
#include "graph/search.h"
#include "topo/machines.h"

namespace ripieno::graph {
namespace {

namespace machines = topo::testing;

GraphSet graphs_of_machine(const std::string& name) {
  const topo::System system = machines::load_machine(name);
  const topo::PathTable paths(system, {});
  return search_graphs(paths, {.scope = Scope::kInter});
}

HostGraphs host_of(const GraphSet& set, int first_rank, int gpus) {
  HostGraphs host{.ring = set.ring, .tree = set.tree};
  host.ranks.resize(static_cast<std::size_t>(gpus));
  std::iota(host.ranks.begin(), host.ranks.end(), first_rank);
  return host;
}

void expect_valid(const JoinedGraphs& joined, int ranks) {
  ASSERT_EQ(joined.rings.size(), static_cast<std::size_t>(joined.channels));
  ASSERT_EQ(joined.trees.size(), static_cast<std::size_t>(joined.channels));
  for (const std::vector<int>& ring : joined.rings) {
    EXPECT_EQ(static_cast<int>(ring.size()), ranks);
    EXPECT_EQ(std::set<int>(ring.begin(), ring.end()).size(), ring.size());
  }
  for (const std::vector<TreeLinks>& tree : joined.trees) {
    int roots = 0;
    int children = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const TreeLinks& links = tree[static_cast<std::size_t>(rank)];
      roots += links.up < 0 ? 1 : 0;
      for (const int child : links.down) {
        if (child < 0) continue;
        ++children;
        EXPECT_EQ(tree[static_cast<std::size_t>(child)].up, rank);
      }
      int steps = 0;
      for (int at = rank; at >= 0 && steps <= ranks; at = tree[static_cast<std::size_t>(at)].up) {
        ++steps;
      }
      ASSERT_LE(steps, ranks) << "a cycle";
    }
    EXPECT_EQ(roots, 1);
    EXPECT_EQ(children, ranks - 1);
  }
}

TEST(Join, AnyNumberOfEqualHosts) {
  for (const std::string name : {"dgx-h100", "dgx1v", "pcie-8gpu-switch", "single-gpu"}) {
    const GraphSet set = graphs_of_machine(name);
    const auto gpus = static_cast<int>(set.ring.channels.front().gpus.size());
    for (int count = 1; count <= 9; ++count) {
      std::vector<HostGraphs> hosts;
      for (int host = 0; host < count; ++host) hosts.push_back(host_of(set, host * gpus, gpus));
      const JoinedGraphs joined = join_hosts(hosts);
      EXPECT_EQ(joined.channels, 2 * static_cast<int>(set.ring.channels.size()));
      EXPECT_TRUE(joined.remarks.empty());
      expect_valid(joined, count * gpus);
    }
  }
}

TEST(Join, RingsThatSwapCardsStayOnTheirRails) {
  const GraphSet set = graphs_of_machine("dgx-h100");
  ASSERT_EQ(set.ring.cross_nic, 2);
  const std::vector<HostGraphs> hosts = {host_of(set, 0, 8), host_of(set, 8, 8)};
  const JoinedGraphs joined = join_hosts(hosts);
  for (std::size_t channel = 0; channel < set.ring.channels.size(); ++channel) {
    // Host 1 enters by the card that host 0 leaves by.
    const Channel& first = set.ring.channels[channel];
    const Channel& second = set.ring.channels[channel ^ 1];
    EXPECT_EQ(first.net_out, second.net_in);
    EXPECT_EQ(joined.rings[channel][8], 8 + second.gpus.front());
  }
}

TEST(Join, TheFewestChannelsAndTheLeastSpeedHold) {
  const GraphSet large = graphs_of_machine("dgx-h100");
  const GraphSet small = graphs_of_machine("v100-4gpu-nvlink");
  const std::vector<HostGraphs> hosts = {host_of(large, 0, 8), host_of(small, 8, 4)};
  const JoinedGraphs joined = join_hosts(hosts);
  EXPECT_EQ(joined.channels, 2 * static_cast<int>(small.ring.channels.size()));
  EXPECT_DOUBLE_EQ(joined.ring_bw_inter, small.ring.bw_inter);
  EXPECT_EQ(joined.remarks.size(), 1U);
  expect_valid(joined, 12);
}

TEST(Join, AHostWithoutANetworkIsToldAndTakesPart) {
  const GraphSet set = graphs_of_machine("dgx-h100");
  const std::vector<HostGraphs> hosts = {host_of(set, 0, 8), {.ranks = {8, 9, 10}}};
  const JoinedGraphs joined = join_hosts(hosts);
  EXPECT_EQ(joined.channels, 2);
  ASSERT_EQ(joined.remarks.size(), 1U);
  EXPECT_NE(joined.remarks[0].find("host 1"), std::string::npos);
  expect_valid(joined, 11);
}

TEST(Join, OneRankAloneAndNoneAtAll) {
  const std::vector<HostGraphs> one = {{.ranks = {0}}};
  expect_valid(join_hosts(one), 1);
  EXPECT_EQ(join_hosts({}).channels, 0);
}

TEST(Join, RanksMayBeDealtInAnyOrder) {
  const GraphSet set = graphs_of_machine("v100-4gpu-nvlink");
  std::vector<HostGraphs> hosts = {{.ranks = {7, 0, 5, 2}}, {.ranks = {1, 6, 3, 4}}};
  for (HostGraphs& host : hosts) {
    host.ring = set.ring;
    host.tree = set.tree;
  }
  expect_valid(join_hosts(hosts), 8);
}

TEST(Join, MissingAndDoubleRanksAreRefused) {
  const std::vector<HostGraphs> twice = {{.ranks = {0, 1}}, {.ranks = {1}}};
  EXPECT_THROW((void)join_hosts(twice), Error);
  const std::vector<HostGraphs> gap = {{.ranks = {0, 2}}};
  EXPECT_THROW((void)join_hosts(gap), Error);
}

}  // namespace
}  // namespace ripieno::graph

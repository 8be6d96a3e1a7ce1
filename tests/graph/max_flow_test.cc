#include "graph/max_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace ripieno::graph {
namespace {

TEST(MaxFlow, TheTextbookExample) {
  MaxFlow flow(6);
  flow.add_arc(0, 1, 16);
  flow.add_arc(0, 2, 13);
  flow.add_arc(1, 2, 10);
  flow.add_arc(2, 1, 4);
  flow.add_arc(1, 3, 12);
  flow.add_arc(3, 2, 9);
  flow.add_arc(2, 4, 14);
  flow.add_arc(4, 3, 7);
  flow.add_arc(3, 5, 20);
  flow.add_arc(4, 5, 4);
  EXPECT_DOUBLE_EQ(flow.run(0, 5), 23);
  EXPECT_DOUBLE_EQ(flow.run(0, 5), 23) << "a second run finds whole capacities";
}

/// The least cut, by trying all of them.
double least_cut(const std::vector<std::vector<double>>& capacity, std::size_t source,
                 std::size_t sink) {
  double least = 1e30;
  for (unsigned side = 0; side < 1U << capacity.size(); ++side) {
    if ((side >> source & 1U) == 0 || (side >> sink & 1U) != 0) continue;
    double cut = 0.0;
    for (std::size_t from = 0; from < capacity.size(); ++from) {
      for (std::size_t to = 0; to < capacity.size(); ++to) {
        if ((side >> from & 1U) != 0 && (side >> to & 1U) == 0) cut += capacity[from][to];
      }
    }
    least = std::min(least, cut);
  }
  return least;
}

TEST(MaxFlow, EqualsTheLeastCut) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const std::size_t nodes = random() % 6 + 2;
    std::vector<std::vector<double>> capacity(nodes, std::vector<double>(nodes, 0.0));
    MaxFlow flow(static_cast<int>(nodes));
    for (std::size_t from = 0; from < nodes; ++from) {
      for (std::size_t to = 0; to < nodes; ++to) {
        if (from == to || random() % 3 == 0) continue;
        capacity[from][to] = random() % 20;
        flow.add_arc(static_cast<int>(from), static_cast<int>(to), capacity[from][to]);
      }
    }
    EXPECT_NEAR(flow.run(0, static_cast<int>(nodes) - 1), least_cut(capacity, 0, nodes - 1), 1e-6);
  }
}

}  // namespace
}  // namespace ripieno::graph

#include "graph/trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace ripieno::graph {
namespace {

using NodeOf = BinaryNode (*)(int, int);

/// Whether parents and children agree and everybody reaches one root; the number of levels.
int depth_of(int count, NodeOf node_of) {
  int roots = 0;
  int deepest = 0;
  for (int index = 0; index < count; ++index) {
    const BinaryNode node = node_of(count, index);
    roots += node.up < 0 ? 1 : 0;
    for (const int child : node.down) {
      if (child >= 0) {
        EXPECT_EQ(node_of(count, child).up, index) << count;
      }
    }
    int depth = 0;
    for (int at = index; at >= 0; at = node_of(count, at).up) {
      ++depth;
      EXPECT_LE(depth, count) << "a cycle";
      if (depth > count) return -1;
    }
    deepest = std::max(deepest, depth);
    if (node.up >= 0) {
      const BinaryNode parent = node_of(count, node.up);
      EXPECT_TRUE(parent.down[0] == index || parent.down[1] == index) << count << ' ' << index;
    }
  }
  EXPECT_EQ(roots, 1) << count;
  return deepest;
}

TEST(Trees, BothAreTreesOfLogarithmicDepth) {
  for (int count = 1; count <= 300; ++count) {
    int logarithm = 0;
    while (1 << logarithm < count) ++logarithm;
    EXPECT_LE(depth_of(count, binary_tree_node), logarithm + 1);
    EXPECT_LE(depth_of(count, second_tree_node), logarithm + 1);
  }
}

TEST(Trees, NobodyHasChildrenTwiceInBoth) {
  // An inner node of one tree, with two children, is a leaf of the other: the load is even.
  for (int count = 2; count <= 300; ++count) {
    for (int index = 0; index < count; ++index) {
      const auto children = [&](const BinaryNode& node) {
        return (node.down[0] >= 0 ? 1 : 0) + (node.down[1] >= 0 ? 1 : 0);
      };
      EXPECT_LE(children(binary_tree_node(count, index)) + children(second_tree_node(count, index)),
                count % 2 == 0 ? 2 : 3)
          << count << ' ' << index;
    }
  }
}

TEST(Trees, FourHosts) {
  EXPECT_EQ(binary_tree_node(4, 0).down[0], 2);
  EXPECT_EQ(binary_tree_node(4, 2).down, (std::array{1, 3}));
  EXPECT_EQ(second_tree_node(4, 3).up, -1);
  EXPECT_EQ(second_tree_node(4, 1).down, (std::array{0, 2}));
}

}  // namespace
}  // namespace ripieno::graph

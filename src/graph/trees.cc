#include "graph/trees.h"

#include <algorithm>
#include <functional>

namespace ripieno::graph {
namespace {

// Numbered from 1, node i of an in-order tree stands at the height of its lowest set bit:
//
//        4
//      /   \            A node's children are half a bit below and above; where the count cuts the
//     2     6           tree off, the upper child is the next lower one that exists.
//    / \   / \                                                                                    .
//   1   3 5   7
BinaryNode mapped(BinaryNode node, const std::function<int(int)>& map) {
  if (node.up >= 0) node.up = map(node.up);
  for (int& child : node.down) {
    if (child >= 0) child = map(child);
  }
  if (node.down[0] >= 0 && node.down[1] >= 0 && node.down[0] > node.down[1]) {
    std::swap(node.down[0], node.down[1]);
  }
  return node;
}

}  // namespace

BinaryNode binary_tree_node(int count, int index) {
  BinaryNode node;
  if (index == 0) {
    int top = 1;
    while (top < count - top) top *= 2;
    if (count > 1) node.down[0] = top < count ? top : top / 2;
    return node;
  }
  const int bit = index & -index;
  const int above = (index ^ bit) | (2 * bit);
  node.up = above < count ? above : index ^ bit;
  int below = bit / 2;
  if (below == 0) return node;
  node.down[0] = index - below;
  while (below > 0 && index + below >= count) below /= 2;
  if (below > 0) node.down[1] = index + below;
  return node;
}

BinaryNode second_tree_node(int count, int index) {
  if (count % 2 == 0) {
    return mapped(binary_tree_node(count, count - 1 - index),
                  [&](int other) { return count - 1 - other; });
  }
  return mapped(binary_tree_node(count, (index + count - 1) % count),
                [&](int other) { return (other + 1) % count; });
}

}  // namespace ripieno::graph

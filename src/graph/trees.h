// Double binary trees: two trees over the same hosts in which every host is a leaf of at least one,
// so that the two together load every host's network evenly.
#pragma once

#include <array>

namespace ripieno::graph {

struct BinaryNode {
  int up = -1;
  std::array<int, 2> down = {-1, -1};  ///< The lower number first.
};

/// Node `index` of the binary tree over 0 ... count-1 whose in-order walk is 1, 2, ... and whose
/// root is 0, with one child.
[[nodiscard]] BinaryNode binary_tree_node(int count, int index);

/// Node `index` of the second tree: the first one mirrored (even count) or shifted by one (odd).
[[nodiscard]] BinaryNode second_tree_node(int count, int index);

}  // namespace ripieno::graph

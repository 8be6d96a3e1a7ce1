// The tree is one tree, whatever the numbers.
#include "bootstrap/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ripieno::bootstrap {
namespace {

TEST(Tree, GroupsShareTheRanksOutEvenly) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int groups = 1; groups <= ranks; ++groups) {
      const Tree tree(ranks, groups);
      EXPECT_EQ(tree.first_of(0), 0);
      EXPECT_EQ(tree.first_of(groups), ranks);
      for (int group = 0; group < groups; ++group) {
        EXPECT_GE(tree.size_of(group), ranks / groups);
        EXPECT_LE(tree.size_of(group), ranks / groups + 1);
        for (int rank = tree.first_of(group); rank < tree.first_of(group + 1); ++rank) {
          EXPECT_EQ(tree.group_of(rank), group);
          EXPECT_EQ(tree.is_leader(rank), rank == tree.first_of(group));
        }
      }
    }
  }
}

TEST(Tree, ParentsAndChildrenAgreeAndReachEveryRank) {
  for (int ranks : {1, 2, 8, 9, 10, 73, 74, 200}) {
    for (int groups : {1, 2, 3, 11}) {
      if (groups > ranks) continue;
      const Tree tree(ranks, groups);
      EXPECT_EQ(tree.parent(0), -1);
      for (int rank = 0; rank < ranks; ++rank) {
        for (const int child : tree.children(rank)) EXPECT_EQ(tree.parent(child), rank);
      }
      auto all = tree.subtree(0);
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(all[static_cast<std::size_t>(rank)], rank);
    }
  }
}

TEST(Tree, IsFlat) {
  EXPECT_EQ(Tree(1, 1).height(0), 0);
  EXPECT_EQ(Tree(9, 1).height(0), 1);
  EXPECT_EQ(Tree(10, 1).height(0), 2);
  EXPECT_LE(Tree(4096, 1).height(0), 4);
  EXPECT_LE(Tree(4096, 16).height(0), 6);
}

}  // namespace
}  // namespace ripieno::bootstrap

// The shape of the tree that carries the exchanges. Ranks are shared out to the unique ids in
// contiguous groups; inside a group ranks form a tree of arity 8 over their numbers, rooted at the
// first rank of the group, its leader; leaders form such a tree over the groups.
//
//     one id, 12 ranks:   0 -- 1 2 3 4 5 6 7 8
//                              |
//                              9 10 11
#pragma once

#include <vector>

namespace ripieno::bootstrap {

class Tree {
 public:
  /// `groups` from 1 to `ranks`.
  Tree(int ranks, int groups) noexcept : ranks_(ranks), groups_(groups) {}

  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] int groups() const noexcept { return groups_; }
  /// Ranks of `group` are first_of(group) .. first_of(group + 1) - 1.
  [[nodiscard]] int first_of(int group) const noexcept;
  [[nodiscard]] int size_of(int group) const noexcept {
    return first_of(group + 1) - first_of(group);
  }
  [[nodiscard]] int group_of(int rank) const noexcept;
  [[nodiscard]] bool is_leader(int rank) const noexcept { return first_of(group_of(rank)) == rank; }

  /// -1 for rank 0.
  [[nodiscard]] int parent(int rank) const noexcept;
  [[nodiscard]] std::vector<int> children(int rank) const;
  /// Longest way down from `rank`: 0 for a leaf.
  [[nodiscard]] int height(int rank) const;
  /// `rank` and all below it.
  [[nodiscard]] std::vector<int> subtree(int rank) const;

 private:
  static constexpr int kArity = 8;

  int ranks_;
  int groups_;
};

}  // namespace ripieno::bootstrap

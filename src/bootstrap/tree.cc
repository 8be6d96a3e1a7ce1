// Heap numbering inside groups and over groups.
#include "bootstrap/tree.h"

#include <algorithm>

namespace ripieno::bootstrap {

int Tree::first_of(int group) const noexcept {
  // The first (ranks mod groups) groups hold one rank more.
  const int share = ranks_ / groups_;
  const int larger = ranks_ % groups_;
  return group * share + std::min(group, larger);
}

int Tree::group_of(int rank) const noexcept {
  const int share = ranks_ / groups_;
  const int larger = ranks_ % groups_;
  const int in_larger = larger * (share + 1);
  if (rank < in_larger) return rank / (share + 1);
  return larger + (rank - in_larger) / share;
}

int Tree::parent(int rank) const noexcept {
  const int group = group_of(rank);
  const int first = first_of(group);
  if (rank != first) return first + (rank - first - 1) / kArity;
  return group == 0 ? -1 : first_of((group - 1) / kArity);
}

std::vector<int> Tree::children(int rank) const {
  std::vector<int> all;
  const int group = group_of(rank);
  const int first = first_of(group);
  const int size = size_of(group);
  const int place = rank - first;
  for (int child = place * kArity + 1; child <= place * kArity + kArity && child < size; ++child) {
    all.push_back(first + child);
  }
  if (place != 0) return all;
  for (int child = group * kArity + 1; child <= group * kArity + kArity && child < groups_;
       ++child) {
    all.push_back(first_of(child));
  }
  return all;
}

int Tree::height(int rank) const {
  int highest = -1;
  for (const int child : children(rank)) highest = std::max(highest, height(child));
  return highest + 1;
}

std::vector<int> Tree::subtree(int rank) const {
  std::vector<int> all{rank};
  for (std::size_t next = 0; next < all.size(); ++next) {
    const auto below = children(all[next]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

}  // namespace ripieno::bootstrap

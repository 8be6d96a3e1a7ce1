// Maximum flow (Dinic's algorithm) for the bounds that are printed beside what the search finds.
#pragma once

#include <cstddef>
#include <vector>

namespace ripieno::graph {

class MaxFlow {
 public:
  explicit MaxFlow(int nodes) : arcs_of_(static_cast<std::size_t>(nodes)) {}
  void add_arc(int from, int to, double capacity);
  /// The largest flow from `source` to `sink`; capacities are whole again afterwards.
  [[nodiscard]] double run(int source, int sink);

 private:
  struct Arc {
    int to = 0;
    double capacity = 0.0;
    double left = 0.0;
  };
  bool layer(int source, int sink);
  double push(int node, int sink, double limit);

  std::vector<Arc> arcs_;  // An arc and its reverse are neighbours.
  std::vector<std::vector<std::size_t>> arcs_of_;
  std::vector<int> depth_;
  std::vector<std::size_t> next_;
};

}  // namespace ripieno::graph

#include "graph/max_flow.h"

#include <algorithm>
#include <limits>

namespace ripieno::graph {
namespace {
constexpr double kNothing = 1e-9;
}

void MaxFlow::add_arc(int from, int to, double capacity) {
  arcs_of_[static_cast<std::size_t>(from)].push_back(arcs_.size());
  arcs_.push_back({to, capacity, capacity});
  arcs_of_[static_cast<std::size_t>(to)].push_back(arcs_.size());
  arcs_.push_back({from, 0.0, 0.0});
}

bool MaxFlow::layer(int source, int sink) {
  depth_.assign(arcs_of_.size(), -1);
  depth_[static_cast<std::size_t>(source)] = 0;
  std::vector<int> queue = {source};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const int node = queue[head];
    for (const std::size_t id : arcs_of_[static_cast<std::size_t>(node)]) {
      const Arc& arc = arcs_[id];
      if (arc.left <= kNothing || depth_[static_cast<std::size_t>(arc.to)] >= 0) continue;
      depth_[static_cast<std::size_t>(arc.to)] = depth_[static_cast<std::size_t>(node)] + 1;
      queue.push_back(arc.to);
    }
  }
  return depth_[static_cast<std::size_t>(sink)] >= 0;
}

double MaxFlow::push(int node, int sink, double limit) {
  if (node == sink || limit <= kNothing) return limit;
  const auto at = static_cast<std::size_t>(node);
  for (std::size_t& next = next_[at]; next < arcs_of_[at].size(); ++next) {
    const std::size_t id = arcs_of_[at][next];
    Arc& arc = arcs_[id];
    if (arc.left <= kNothing || depth_[static_cast<std::size_t>(arc.to)] != depth_[at] + 1) {
      continue;
    }
    const double moved = push(arc.to, sink, std::min(limit, arc.left));
    if (moved > kNothing) {
      arc.left -= moved;
      arcs_[id ^ 1].left += moved;
      return moved;
    }
  }
  return 0.0;
}

double MaxFlow::run(int source, int sink) {
  for (Arc& arc : arcs_) arc.left = arc.capacity;
  double total = 0.0;
  while (layer(source, sink)) {
    next_.assign(arcs_of_.size(), 0);
    while (true) {
      const double moved = push(source, sink, std::numeric_limits<double>::max());
      if (moved <= kNothing) break;
      total += moved;
    }
  }
  return total;
}

}  // namespace ripieno::graph

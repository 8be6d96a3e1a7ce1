// From a graph to steps on lanes. Each node carries a vector clock (per lane, the newest step it
// comes after), which tells what it must still wait for, and which lane is free to take it without
// adding an order that the graph does not have.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "hostrt/graph_exec.h"
#include "hostrt/operations.h"
#include "hostrt/runtime.h"

namespace ripieno::hostrt {
namespace {

/// Per lane: one more than the index of the newest step that is complete before this point; zero
/// for none.
using VectorClock = std::vector<std::size_t>;

void merge(VectorClock& into, const VectorClock& other) {
  if (into.size() < other.size()) into.resize(other.size(), 0);
  for (std::size_t lane = 0; lane < other.size(); ++lane)
    into[lane] = std::max(into[lane], other[lane]);
}

std::size_t at(const VectorClock& clock, std::size_t lane) {
  return lane < clock.size() ? clock[lane] : 0;
}

class Planner {
 public:
  explicit Planner(GraphPlan& plan) : plan_(plan) {}

  /// Adds all steps of `graph`, the first ones after `entry`; returns what is complete once they
  /// all are.
  VectorClock add_graph(const Graph& graph, const VectorClock& entry) {
    std::map<const GraphNode*, VectorClock> done;
    VectorClock all = entry;
    for (const GraphNode* node : graph.ordered()) {
      VectorClock clock = entry;
      for (const GraphNode* dependency : node->dependencies) merge(clock, done.at(dependency));
      if (node->child) {
        clock = add_graph(*node->child, clock);
      } else {
        add_step(node->task, clock);
      }
      merge(all, clock);
      done.emplace(node, std::move(clock));
    }
    return all;
  }

 private:
  /// Appends one step that comes after `clock`, which becomes the clock after the step.
  void add_step(const std::shared_ptr<const Task>& task, VectorClock& clock) {
    const std::size_t lane = choose_lane(clock);
    GraphPlan::Step step{.task = task, .lane = lane, .after = {}};
    const VectorClock& on_lane = lane_clocks_[lane];
    for (std::size_t other = 0; other < clock.size(); ++other) {
      if (other != lane && clock[other] > at(on_lane, other))
        step.after.push_back(clock[other] - 1);
    }
    plan_.steps.push_back(std::move(step));
    merge(clock, VectorClock(lane + 1, 0));
    clock[lane] = plan_.steps.size();
    lane_clocks_[lane] = clock;
  }

  /// A lane whose newest step this one comes after anyway, else a new one.
  std::size_t choose_lane(const VectorClock& clock) {
    for (std::size_t lane = 0; lane < lane_clocks_.size(); ++lane) {
      if (at(lane_clocks_[lane], lane) == at(clock, lane)) return lane;
    }
    lane_clocks_.emplace_back();
    plan_.lane_count = lane_clocks_.size();
    return lane_clocks_.size() - 1;
  }

  GraphPlan& plan_;
  std::vector<VectorClock> lane_clocks_;  // after the newest step of each lane
};

}  // namespace

std::shared_ptr<const GraphPlan> plan_graph(const Graph& graph) {
  auto plan = std::make_shared<GraphPlan>();
  plan->graph = std::make_shared<const Graph>(graph);
  Planner(*plan).add_graph(graph, {});
  std::map<const GraphNode*, std::size_t> index;
  for (const GraphNode* node : graph.nodes()) index.emplace(node, index.size());
  for (const GraphNode* node : graph.nodes()) {
    plan->types.push_back(node->type);
    std::vector<std::size_t>& edges = plan->edges.emplace_back();
    for (const GraphNode* dependency : node->dependencies) edges.push_back(index.at(dependency));
    std::sort(edges.begin(), edges.end());
  }
  return plan;
}

}  // namespace ripieno::hostrt

// The executable form of a graph. Its nodes are laid out on lanes: lane 0 is the stream a launch
// goes to, the others are streams of the graph's own, one for each branch that runs beside it.
// Tasks of two branches may need each other to finish, so branches are never put one after the
// other.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "hostrt/graph.h"
#include "hostrt/handle.h"
#include "hostrt/stream.h"

namespace ripieno::hostrt {

/// Steps in submission order; shared by the handle and by launches that are under way.
struct GraphPlan {
  struct Step {
    std::shared_ptr<const Task> task;
    std::size_t lane = 0;
    std::vector<std::size_t> after;  ///< Steps on other lanes that must be complete.
  };
  std::vector<Step> steps;
  std::size_t lane_count = 1;
  std::vector<cudaGraphNodeType> types;  ///< Of the nodes, in their order, to compare two graphs.
  std::vector<std::vector<std::size_t>> edges;
  std::shared_ptr<const Graph> graph;  ///< What the plan was made from; it holds the user objects.
};

/// Throws RuntimeError(cudaErrorInvalidValue) for a graph with a cycle.
std::shared_ptr<const GraphPlan> plan_graph(const Graph& graph);

class GraphExec {
 public:
  static constexpr std::uint64_t kHandleMark = 0x7269'6578'6563'2121ULL;
  using Pool = HandlePool<GraphExec, cudaGraphExec_t>;

  GraphExec(const Graph& graph, unsigned long long flags);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  [[nodiscard]] unsigned long long flags() const noexcept { return flags_; }
  void launch(Stream& stream);
  /// Takes over the tasks of a graph of the same shape; false (nothing done) where the shape
  /// differs.
  bool update(const Graph& graph);

 private:
  class Launch;

  const unsigned long long flags_;
  std::mutex
      mutex_;  // guards all below; a launch appends all its tasks under it, so launches do not mix
  std::shared_ptr<const GraphPlan> plan_;
  std::vector<Stream*> lanes_;  // lanes 1 and up, made when the first launch needs them
  StreamRef last_stream_;
  Position last_position_ = 0;
};

/// Throws RuntimeError(cudaErrorInvalidValue).
GraphExec& resolve_exec(cudaGraphExec_t handle);

}  // namespace ripieno::hostrt

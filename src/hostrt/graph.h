// Graphs: nodes and what each depends on. A node holds the prototype of a task, never started
// itself; launching the executable form (graph_exec.h) submits clones.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "hostrt/handle.h"
#include "hostrt/task.h"
#include "hostrt/user_object.h"

namespace ripieno::hostrt {

class Graph;

struct GraphNode {
  static constexpr std::uint64_t kHandleMark = 0x7269'6e6f'6465'2121ULL;
  using Pool = HandlePool<GraphNode, cudaGraphNode_t>;

  Graph* graph = nullptr;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::shared_ptr<const Task> task;    ///< Null for a child graph.
  std::shared_ptr<const Graph> child;  ///< Null for all others.
  std::vector<GraphNode*> dependencies;
  std::vector<GraphNode*> dependents;
};

class Graph {
 public:
  static constexpr std::uint64_t kHandleMark = 0x7269'6772'6170'6821ULL;
  using Pool = HandlePool<Graph, cudaGraph_t>;

  Graph() = default;
  /// The same nodes and edges (sharing the tasks' prototypes), and a reference to each user object.
  Graph(const Graph& other);
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  GraphNode& add_node(cudaGraphNodeType type, std::shared_ptr<const Task> task,
                      std::span<GraphNode* const> dependencies);
  GraphNode& add_child(const Graph& child, std::span<GraphNode* const> dependencies);
  void remove_node(GraphNode& node);
  /// Throws RuntimeError where the edge exists (or does not), or is one of a node to itself.
  void add_edge(GraphNode& from, GraphNode& to);
  void remove_edge(GraphNode& from, GraphNode& to);

  [[nodiscard]] const std::vector<GraphNode*>& nodes() const noexcept { return nodes_; }
  /// Every node after those it depends on. Throws RuntimeError where there is a cycle.
  [[nodiscard]] std::vector<const GraphNode*> ordered() const;

  UserObjectSet user_objects;

 private:
  std::vector<GraphNode*> nodes_;
};

/// Throw RuntimeError(cudaErrorInvalidValue).
Graph& resolve_graph(cudaGraph_t handle);
GraphNode& resolve_node(cudaGraphNode_t handle);
std::vector<GraphNode*> resolve_nodes(const cudaGraphNode_t* handles, std::size_t count);

}  // namespace ripieno::hostrt

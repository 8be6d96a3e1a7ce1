// Nodes and edges; see graph.h.
#include "hostrt/graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "hostrt/runtime.h"

namespace ripieno::hostrt {

Graph::Graph(const Graph& other) : user_objects(other.user_objects) {
  std::unordered_map<const GraphNode*, GraphNode*> twins;
  for (const GraphNode* node : other.nodes_) {
    GraphNode* twin = GraphNode::Pool::create();
    twin->graph = this;
    twin->type = node->type;
    twin->task = node->task;
    twin->child = node->child;
    nodes_.push_back(twin);
    twins.emplace(node, twin);
  }
  for (const GraphNode* node : other.nodes_) {
    GraphNode* twin = twins.at(node);
    for (GraphNode* one : node->dependencies) twin->dependencies.push_back(twins.at(one));
    for (GraphNode* one : node->dependents) twin->dependents.push_back(twins.at(one));
  }
}

Graph::~Graph() {
  for (GraphNode* node : nodes_) GraphNode::Pool::destroy(node);
}

GraphNode& Graph::add_node(cudaGraphNodeType type, std::shared_ptr<const Task> task,
                           std::span<GraphNode* const> dependencies) {
  for (const GraphNode* one : dependencies) {
    if (one->graph != this)
      throw RuntimeError(cudaErrorInvalidValue, "a dependency is a node of another graph");
  }
  GraphNode* node = GraphNode::Pool::create();
  node->graph = this;
  node->type = type;
  node->task = std::move(task);
  nodes_.push_back(node);
  for (GraphNode* one : dependencies) {
    if (std::find(node->dependencies.begin(), node->dependencies.end(), one) !=
        node->dependencies.end())
      continue;
    node->dependencies.push_back(one);
    one->dependents.push_back(node);
  }
  return *node;
}

GraphNode& Graph::add_child(const Graph& child, std::span<GraphNode* const> dependencies) {
  auto copy = std::make_shared<const Graph>(child);
  GraphNode& node = add_node(cudaGraphNodeTypeGraph, nullptr, dependencies);
  node.child = std::move(copy);
  return node;
}

void Graph::remove_node(GraphNode& node) {
  for (GraphNode* one : node.dependencies) std::erase(one->dependents, &node);
  for (GraphNode* one : node.dependents) std::erase(one->dependencies, &node);
  std::erase(nodes_, &node);
  GraphNode::Pool::destroy(&node);
}

void Graph::add_edge(GraphNode& from, GraphNode& to) {
  const bool exists =
      std::find(to.dependencies.begin(), to.dependencies.end(), &from) != to.dependencies.end();
  if (from.graph != this || to.graph != this || &from == &to || exists) {
    throw RuntimeError(cudaErrorInvalidValue, "not a new edge between two nodes of this graph");
  }
  to.dependencies.push_back(&from);
  from.dependents.push_back(&to);
}

void Graph::remove_edge(GraphNode& from, GraphNode& to) {
  if (std::erase(to.dependencies, &from) == 0) {
    throw RuntimeError(cudaErrorInvalidValue, "there is no such edge in the graph");
  }
  std::erase(from.dependents, &to);
}

std::vector<const GraphNode*> Graph::ordered() const {
  // Of the nodes that are ready the oldest goes first, so a captured graph keeps the order in which
  // it was captured.
  std::unordered_map<const GraphNode*, std::size_t> age;
  std::vector<std::size_t> missing;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (const GraphNode* node : nodes_) {
    if (node->dependencies.empty()) ready.push(missing.size());
    age.emplace(node, missing.size());
    missing.push_back(node->dependencies.size());
  }
  std::vector<const GraphNode*> order;
  while (!ready.empty()) {
    const GraphNode* node = nodes_[ready.top()];
    ready.pop();
    order.push_back(node);
    for (const GraphNode* dependent : node->dependents) {
      if (--missing[age.at(dependent)] == 0) ready.push(age.at(dependent));
    }
  }
  if (order.size() != nodes_.size())
    throw RuntimeError(cudaErrorInvalidValue, "the graph has a cycle");
  return order;
}

Graph& resolve_graph(cudaGraph_t handle) {
  Graph* graph = Graph::Pool::find(handle);
  if (graph == nullptr) throw RuntimeError(cudaErrorInvalidValue, "the graph does not exist");
  return *graph;
}

GraphNode& resolve_node(cudaGraphNode_t handle) {
  GraphNode* node = GraphNode::Pool::find(handle);
  if (node == nullptr) throw RuntimeError(cudaErrorInvalidValue, "the graph node does not exist");
  return *node;
}

std::vector<GraphNode*> resolve_nodes(const cudaGraphNode_t* handles, std::size_t count) {
  if (count > 0 && handles == nullptr)
    throw RuntimeError(cudaErrorInvalidValue, "no list of nodes");
  std::vector<GraphNode*> nodes;
  for (std::size_t index = 0; index < count; ++index)
    nodes.push_back(&resolve_node(handles[index]));
  return nodes;
}

}  // namespace ripieno::hostrt

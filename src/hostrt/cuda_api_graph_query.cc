// Looking at a graph: nodes, edges, and a drawing of it.
#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "hostrt/api.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/graph.h"

namespace ripieno::hostrt::cuda {
namespace {

/// The convention of all list queries: without a list only the number is told; a longer list is
/// filled up with nulls.
void list_nodes(const std::vector<GraphNode*>& nodes, cudaGraphNode_t* list, std::size_t* count) {
  require(count != nullptr, "no place for the number");
  if (list == nullptr) {
    *count = nodes.size();
    return;
  }
  for (std::size_t index = 0; index < *count; ++index) {
    list[index] = index < nodes.size() ? GraphNode::Pool::handle_of(nodes[index]) : nullptr;
  }
  *count = std::min(*count, nodes.size());
}

void list_plain_edges(cudaGraphEdgeData* list, std::size_t count) {
  if (list != nullptr) std::fill(list, list + count, cudaGraphEdgeData{});
}

const char* word_of(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel:
      return "operation";
    case cudaGraphNodeTypeMemcpy:
      return "copy";
    case cudaGraphNodeTypeMemset:
      return "fill";
    case cudaGraphNodeTypeHost:
      return "host function";
    case cudaGraphNodeTypeGraph:
      return "child graph";
    case cudaGraphNodeTypeWaitEvent:
      return "wait for event";
    case cudaGraphNodeTypeEventRecord:
      return "record event";
    default:
      return "empty";
  }
}

}  // namespace

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
  return call([&] { list_nodes(resolve_graph(graph).nodes(), nodes, numNodes); });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
  return call([&] {
    std::vector<GraphNode*> roots;
    for (GraphNode* node : resolve_graph(graph).nodes()) {
      if (node->dependencies.empty()) roots.push_back(node);
    }
    list_nodes(roots, nodes, numNodes);
  });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edgeData, size_t* numEdges) {
  return call([&] {
    require(numEdges != nullptr && (from == nullptr) == (to == nullptr),
            "one list of two, or no place for the number");
    std::vector<GraphNode*> starts;
    std::vector<GraphNode*> ends;
    for (GraphNode* node : resolve_graph(graph).nodes()) {
      for (GraphNode* dependency : node->dependencies) {
        starts.push_back(dependency);
        ends.push_back(node);
      }
    }
    std::size_t count = *numEdges;
    list_nodes(starts, from, &count);
    list_nodes(ends, to, numEdges);
    if (from != nullptr) list_plain_edges(edgeData, count);
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return call([&] {
    require(type != nullptr, "no place for the type");
    *type = resolve_node(node).type;
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edgeData, size_t* numDependencies) {
  return call([&] {
    list_nodes(resolve_node(node).dependencies, dependencies, numDependencies);
    if (dependencies != nullptr) list_plain_edges(edgeData, *numDependencies);
  });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents,
                                           cudaGraphEdgeData* edgeData, size_t* numDependents) {
  return call([&] {
    list_nodes(resolve_node(node).dependents, dependents, numDependents);
    if (dependents != nullptr) list_plain_edges(edgeData, *numDependents);
  });
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int /*flags*/) {
  return call([&] {
    require(path != nullptr, "no path");
    const std::vector<GraphNode*>& nodes = resolve_graph(graph).nodes();
    const auto number = [&](const GraphNode* node) {
      return std::find(nodes.begin(), nodes.end(), node) - nodes.begin();
    };
    std::ofstream file(path);
    file << "digraph \"graph\" {\n";
    for (const GraphNode* node : nodes) {
      file << "  n" << number(node) << " [label=\"" << number(node) << ": " << word_of(node->type)
           << "\"];\n";
      for (const GraphNode* dependent : node->dependents) {
        file << "  n" << number(node) << " -> n" << number(dependent) << ";\n";
      }
    }
    file << "}\n";
    return file ? cudaSuccess : cudaErrorOperatingSystem;
  });
}

}  // namespace ripieno::hostrt::cuda

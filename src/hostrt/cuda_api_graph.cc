// Graphs: building them node by node, running them, user objects.
#include <utility>

#include "hostrt/api.h"
#include "hostrt/copy_shapes.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/event.h"
#include "hostrt/graph.h"
#include "hostrt/graph_exec.h"
#include "hostrt/operations.h"

namespace ripieno::hostrt::cuda {
namespace {

void add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
         std::size_t count, cudaGraphNodeType type, std::unique_ptr<Task> task) {
  require(node != nullptr, "no place for the node");
  GraphNode& made =
      resolve_graph(graph).add_node(type, std::move(task), resolve_nodes(dependencies, count));
  *node = GraphNode::Pool::handle_of(&made);
}

void instantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  require(exec != nullptr, "no place for the executable graph");
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0) {
    fail(cudaErrorNotSupported, "graphs launched from a device");
  }
  *exec = GraphExec::Pool::handle_of(GraphExec::Pool::create(resolve_graph(graph), flags));
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return call([&] {
    require(graph != nullptr && flags == 0, "no place for the graph, or flags not 0");
    *graph = Graph::Pool::handle_of(Graph::Pool::create());
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return call([&] {
    require(clone != nullptr, "no place for the graph");
    *clone = Graph::Pool::handle_of(Graph::Pool::create(resolve_graph(original)));
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call([&] { Graph::Pool::destroy(&resolve_graph(graph)); });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t numDependencies) {
  return call([&] {
    add(node, graph, dependencies, numDependencies, cudaGraphNodeTypeEmpty, make_empty_task());
  });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t numDependencies,
                                 const cudaHostNodeParams* parameters) {
  return call([&] {
    require(parameters != nullptr && parameters->fn != nullptr, "no function");
    add(node, graph, dependencies, numDependencies, cudaGraphNodeTypeHost,
        make_host_function_task(parameters->fn, parameters->userData));
  });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t numDependencies,
                                   const cudaMemcpy3DParms* parameters) {
  return call([&] {
    add(node, graph, dependencies, numDependencies, cudaGraphNodeTypeMemcpy,
        make_copy_task(volume_copy(parameters)));
  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t numDependencies,
                                     void* dst, const void* src, size_t size, cudaMemcpyKind kind) {
  return call([&] {
    add(node, graph, dependencies, numDependencies, cudaGraphNodeTypeMemcpy,
        make_copy_task(plain_copy(dst, src, size, kind)));
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t numDependencies,
                                   const cudaMemsetParams* parameters) {
  return call([&] {
    add(node, graph, dependencies, numDependencies, cudaGraphNodeTypeMemset,
        make_fill_task(element_fill(parameters)));
  });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, size_t numDependencies,
                                        cudaEvent_t event) {
  return call([&] {
    resolve_event(event);
    add(node, graph, dependencies, numDependencies, cudaGraphNodeTypeEventRecord,
        make_event_record_task(event));
  });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, size_t numDependencies,
                                      cudaEvent_t event) {
  return call([&] {
    resolve_event(event);
    add(node, graph, dependencies, numDependencies, cudaGraphNodeTypeWaitEvent,
        make_event_wait_task(event));
  });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t numDependencies,
                                       cudaGraph_t childGraph) {
  return call([&] {
    require(node != nullptr, "no place for the node");
    GraphNode& made = resolve_graph(graph).add_child(resolve_graph(childGraph),
                                                     resolve_nodes(dependencies, numDependencies));
    *node = GraphNode::Pool::handle_of(&made);
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* /*edgeData*/,
                                     size_t numDependencies) {
  return call([&] {
    Graph& target = resolve_graph(graph);
    const auto starts = resolve_nodes(from, numDependencies);
    const auto ends = resolve_nodes(to, numDependencies);
    for (std::size_t edge = 0; edge < numDependencies; ++edge)
      target.add_edge(*starts[edge], *ends[edge]);
  });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData* /*edgeData*/,
                                        size_t numDependencies) {
  return call([&] {
    Graph& target = resolve_graph(graph);
    const auto starts = resolve_nodes(from, numDependencies);
    const auto ends = resolve_nodes(to, numDependencies);
    for (std::size_t edge = 0; edge < numDependencies; ++edge)
      target.remove_edge(*starts[edge], *ends[edge]);
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return call([&] {
    GraphNode& doomed = resolve_node(node);
    doomed.graph->remove_node(doomed);
  });
}

// ---- Running ----

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return call([&] { instantiate(exec, graph, flags); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cuda::cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  return call([&] {
    require(parameters != nullptr, "no parameters");
    parameters->errNode_out = nullptr;
    parameters->result_out = cudaGraphInstantiateError;
    instantiate(exec, graph, parameters->flags);
    parameters->result_out = cudaGraphInstantiateSuccess;
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  return call([&] {
    require(flags != nullptr, "no place for the flags");
    *flags = resolve_exec(exec).flags();
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  return call([&] {
    require(result != nullptr, "no place for the result");
    *result = {};
    if (resolve_exec(exec).update(resolve_graph(graph))) return cudaSuccess;
    result->result = cudaGraphExecUpdateErrorTopologyChanged;
    return cudaErrorGraphExecUpdateFailure;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return call([&] {  // there is nowhere to upload to
    resolve_exec(exec);
    resolve_stream(stream);
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return call([&] { resolve_exec(exec).launch(resolve_stream(stream)); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return call([&] { GraphExec::Pool::destroy(&resolve_exec(exec)); });
}

// ---- User objects ----

namespace {

UserObject& resolve_object(cudaUserObject_t handle, unsigned count) {
  UserObject* object = UserObject::Pool::find(handle);
  require(object != nullptr && count > 0, "the user object does not exist, or a count of 0");
  return *object;
}

}  // namespace

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned int initialReferences, unsigned int flags) {
  return call([&] {
    require(object != nullptr && destroy != nullptr && initialReferences > 0,
            "no function, or no reference");
    require(flags == cudaUserObjectNoDestructorSync,
            "flags must be cudaUserObjectNoDestructorSync");
    *object =
        UserObject::Pool::handle_of(UserObject::Pool::create(pointer, destroy, initialReferences));
  });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  return call([&] { resolve_object(object, count).retain(count); });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  return call([&] {
    UserObject& released = resolve_object(object, count);
    require(count <= released.references(), "more references than there are");
    released.release(count);
  });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                      unsigned int count, unsigned int flags) {
  return call([&] {
    require(flags == 0 || flags == cudaGraphUserObjectMove, "unknown flags");
    Graph& keeper = resolve_graph(graph);
    UserObject& kept = resolve_object(object, count);
    if (flags != cudaGraphUserObjectMove) kept.retain(count);
    keeper.user_objects.adopt(kept, count);
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                       unsigned int count) {
  return call([&] {
    require(resolve_graph(graph).user_objects.drop(resolve_object(object, count), count),
            "the graph does not hold so many references");
  });
}

}  // namespace ripieno::hostrt::cuda

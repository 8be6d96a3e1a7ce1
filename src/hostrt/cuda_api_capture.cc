// Stream capture.
#include <utility>

#include "hostrt/api.h"
#include "hostrt/capture.h"
#include "hostrt/cuda_functions.h"

namespace ripieno::hostrt::cuda {
namespace {

/// Edges mean "after" and nothing else here.
void require_plain_edges(const cudaGraphEdgeData* edges, std::size_t count) {
  for (std::size_t index = 0; edges != nullptr && index < count; ++index) {
    const cudaGraphEdgeData& edge = edges[index];
    if (edge.type != 0 || edge.from_port != 0 || edge.to_port != 0) {
      fail(cudaErrorNotSupported, "edges between ports of kernel nodes");
    }
  }
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call([&] { begin_capture(resolve_stream(stream), mode); });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* dependencyData,
                                          size_t numDependencies, cudaStreamCaptureMode mode) {
  return call([&] {
    require_plain_edges(dependencyData, numDependencies);
    begin_capture_to(resolve_stream(stream), resolve_graph(graph),
                     resolve_nodes(dependencies, numDependencies), mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call([&] {
    require(graph != nullptr, "no place for the graph");
    *graph = nullptr;
    *graph = Graph::Pool::handle_of(&end_capture(resolve_stream(stream)));
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call([&] {
    require(status != nullptr, "no place for the status");
    Stream& asked = resolve_stream(stream);
    if (asked.kind() == StreamKind::kLegacy) refuse_implicit_dependency(device(asked.device()));
    *status = capture_info(asked).status;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edgeData, size_t* numDependencies) {
  return call([&] {
    require(status != nullptr, "no place for the status");
    Stream& asked = resolve_stream(stream);
    if (asked.kind() == StreamKind::kLegacy) refuse_implicit_dependency(device(asked.device()));
    const CaptureInfo info = capture_info(asked);
    *status = info.status;
    if (id != nullptr) *id = info.id;
    if (graph != nullptr) *graph = info.graph;
    if (dependencies != nullptr) *dependencies = info.dependencies;
    if (edgeData != nullptr) *edgeData = nullptr;  // plain edges
    if (numDependencies != nullptr) *numDependencies = info.dependency_count;
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* dependencyData,
                                                size_t numDependencies, unsigned int flags) {
  return call([&] {
    require(flags == cudaStreamAddCaptureDependencies || flags == cudaStreamSetCaptureDependencies,
            "unknown flags");
    require_plain_edges(dependencyData, numDependencies);
    update_dependencies(resolve_stream(stream), resolve_nodes(dependencies, numDependencies),
                        flags == cudaStreamSetCaptureDependencies);
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call([&] {
    require(mode != nullptr && *mode >= cudaStreamCaptureModeGlobal &&
                *mode <= cudaStreamCaptureModeRelaxed,
            "no mode, or an unknown one");
    *mode = std::exchange(thread_state().capture_mode, *mode);
  });
}

}  // namespace ripieno::hostrt::cuda

// Stream capture: while a stream is captured, what it is given becomes nodes of a graph. A capture
// begins at one stream, others join by waiting for an event recorded in it, and all must be joined
// back when it ends. Whatever cannot be captured makes the capture invalid; it then fails when it
// ends.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "hostrt/event.h"
#include "hostrt/graph.h"
#include "hostrt/stream.h"

namespace ripieno::hostrt {

class Capture;
class VirtualDevice;

/// One stream's part in a capture.
class StreamCapture {
 public:
  StreamCapture(std::shared_ptr<Capture> whole, std::vector<cudaGraphNode_t> nodes)
      : capture(std::move(whole)), dependencies(std::move(nodes)) {}
  const std::shared_ptr<Capture> capture;
  std::vector<cudaGraphNode_t> dependencies;  ///< What the stream's next node comes after.
};

/// Fast: on the path of everything a stream is given.
inline bool is_captured(const Stream& stream) noexcept {
  return stream.capture.load(std::memory_order_acquire) != nullptr;
}

void begin_capture(Stream& stream, cudaStreamCaptureMode mode);
/// Into a graph that exists, after nodes of it.
void begin_capture_to(Stream& stream, Graph& graph, const std::vector<GraphNode*>& dependencies,
                      cudaStreamCaptureMode mode);
/// The new graph (or the one given to begin_capture_to).
Graph& end_capture(Stream& stream);

struct CaptureInfo {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  std::uint64_t id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;  ///< Good until the stream is given something.
  std::size_t dependency_count = 0;
};
CaptureInfo capture_info(Stream& stream);
void update_dependencies(Stream& stream, const std::vector<GraphNode*>& nodes, bool replace);

// All of these throw RuntimeError where the capture is or becomes invalid.

/// Makes `task` a node of the capture `stream` is in.
void capture_task(Stream& stream, std::unique_ptr<Task> task, cudaGraphNodeType type);
void capture_child(Stream& stream, const Graph& graph);
void capture_record(Stream& stream, Event& event);
/// A wait where the stream is captured, or the event was recorded in a capture (which `stream`
/// joins then). False: neither is the case, nothing was done.
bool capture_wait(Stream& stream, Event& event);
/// External: the wait becomes a node, whatever the event.
void capture_external_wait(Stream& stream, cudaEvent_t event);
void capture_external_record(Stream& stream, cudaEvent_t event);

/// For a call that is not allowed on a stream being captured (or on nothing, where `stream` is null
/// and any is).
void refuse_while_captured(Stream& stream);
void refuse_while_device_captured(VirtualDevice& device);
/// For a call that may break a capture elsewhere (allocating, freeing): refused according to the
/// capture modes.
void refuse_unsafe_call();
/// For work given to a legacy default stream: refused while a blocking stream of the device is
/// captured.
void refuse_implicit_dependency(VirtualDevice& device);
/// A captured stream is being destroyed.
void leave_capture(Stream& stream) noexcept;

}  // namespace ripieno::hostrt

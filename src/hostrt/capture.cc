// The life of a capture; see capture.h. All state of all captures is guarded by one mutex: captures
// are rare, and the path of a stream that is not captured reads one atomic pointer only.
#include "hostrt/capture.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "hostrt/device.h"
#include "hostrt/runtime.h"

namespace ripieno::hostrt {

class Capture {
 public:
  Capture(std::uint64_t number, Graph* into, cudaStreamCaptureMode chosen_mode, Stream& first)
      : id(number),
        graph(into != nullptr ? into : Graph::Pool::create()),
        owns_graph(into == nullptr),
        mode(chosen_mode),
        origin(&first) {}
  ~Capture() {
    if (owns_graph) Graph::Pool::destroy(graph);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  const std::uint64_t id;
  Graph* const graph;
  bool owns_graph;
  const cudaStreamCaptureMode mode;
  Stream* const origin;
  const std::thread::id thread = std::this_thread::get_id();
  bool valid = true;
  std::map<Stream*, std::unique_ptr<StreamCapture>> streams;
  std::set<GraphNode*> added;
};

namespace {

struct Captures {
  std::mutex mutex;
  std::uint64_t next_id = 1;
  std::map<std::uint64_t, Capture*> active;
};

/// Never destroyed, like all state that other threads may use during exit.
Captures& captures() {
  static auto* const all = new Captures;
  return *all;
}

/// How many captures are under way; keeps calls outside of any capture away from the mutex.
std::atomic<int> g_active{0};

[[noreturn]] void invalidate(Capture& capture, cudaError_t code, const char* sentence) {
  capture.valid = false;
  throw RuntimeError(code, sentence);
}

/// The stream's part in a valid capture. Expects the mutex.
StreamCapture& active_part(Stream& stream) {
  StreamCapture* part = stream.capture.load(std::memory_order_acquire);
  if (part == nullptr)
    throw RuntimeError(cudaErrorIllegalState, "the stream is not being captured");
  if (!part->capture->valid) {
    throw RuntimeError(cudaErrorStreamCaptureInvalidated,
                       "the stream's capture has become invalid");
  }
  return *part;
}

void join(Stream& stream, const std::shared_ptr<Capture>& capture,
          std::vector<cudaGraphNode_t> dependencies) {
  auto part = std::make_unique<StreamCapture>(capture, std::move(dependencies));
  stream.capture.store(part.get(), std::memory_order_release);
  capture->streams.emplace(&stream, std::move(part));
}

void add_node(StreamCapture& part, cudaGraphNodeType type, std::unique_ptr<Task> task) {
  const auto dependencies = resolve_nodes(part.dependencies.data(), part.dependencies.size());
  GraphNode& node = part.capture->graph->add_node(type, std::move(task), dependencies);
  part.capture->added.insert(&node);
  part.dependencies = {GraphNode::Pool::handle_of(&node)};
}

/// Whether every node the capture has added comes before the origin stream's end.
bool all_joined(const Capture& capture, const StreamCapture& origin) {
  std::set<GraphNode*> reached;
  std::vector<GraphNode*> open =
      resolve_nodes(origin.dependencies.data(), origin.dependencies.size());
  while (!open.empty()) {
    GraphNode* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return std::includes(reached.begin(), reached.end(), capture.added.begin(), capture.added.end());
}

void begin(Stream& stream, Graph* into, std::vector<cudaGraphNode_t> dependencies,
           cudaStreamCaptureMode mode) {
  if (stream.kind() == StreamKind::kLegacy) {
    throw RuntimeError(cudaErrorStreamCaptureUnsupported,
                       "the legacy default stream cannot be captured");
  }
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) {
    throw RuntimeError(cudaErrorInvalidValue, "unknown capture mode");
  }
  Captures& all = captures();
  const std::lock_guard guard(all.mutex);
  if (is_captured(stream))
    throw RuntimeError(cudaErrorIllegalState, "the stream is being captured already");
  auto capture = std::make_shared<Capture>(all.next_id++, into, mode, stream);
  join(stream, capture, std::move(dependencies));
  all.active.emplace(capture->id, capture.get());
  g_active.fetch_add(1);
}

/// Takes all streams out of the capture. Expects the mutex.
void dissolve(Captures& all, Capture& capture) noexcept {
  for (auto& [stream, part] : capture.streams)
    stream->capture.store(nullptr, std::memory_order_release);
  all.active.erase(capture.id);
  g_active.fetch_sub(1);
}

}  // namespace

void begin_capture(Stream& stream, cudaStreamCaptureMode mode) {
  begin(stream, nullptr, {}, mode);
}

void begin_capture_to(Stream& stream, Graph& graph, const std::vector<GraphNode*>& dependencies,
                      cudaStreamCaptureMode mode) {
  std::vector<cudaGraphNode_t> handles;
  for (const GraphNode* node : dependencies) handles.push_back(GraphNode::Pool::handle_of(node));
  begin(stream, &graph, std::move(handles), mode);
}

Graph& end_capture(Stream& stream) {
  Captures& all = captures();
  std::map<Stream*, std::unique_ptr<StreamCapture>> parts;  // these end after the lock
  const std::lock_guard guard(all.mutex);
  StreamCapture* part = stream.capture.load(std::memory_order_acquire);
  if (part == nullptr)
    throw RuntimeError(cudaErrorIllegalState, "the stream is not being captured");
  const std::shared_ptr<Capture> capture = part->capture;
  if (capture->origin != &stream) {
    invalidate(*capture, cudaErrorStreamCaptureUnmatched,
               "the capture did not begin at this stream");
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    throw RuntimeError(cudaErrorStreamCaptureWrongThread,
                       "the capture was begun by another thread");
  }
  const bool joined = all_joined(*capture, *part);
  dissolve(all, *capture);
  parts.swap(capture->streams);
  if (!capture->valid) {
    throw RuntimeError(cudaErrorStreamCaptureInvalidated, "the capture had become invalid");
  }
  if (!joined) {
    throw RuntimeError(cudaErrorStreamCaptureUnjoined,
                       "a stream that joined the capture was not joined back");
  }
  capture->owns_graph = false;
  return *capture->graph;
}

CaptureInfo capture_info(Stream& stream) {
  if (!is_captured(stream)) return {};
  const std::lock_guard guard(captures().mutex);
  const StreamCapture* part = stream.capture.load(std::memory_order_acquire);
  if (part == nullptr) return {};
  const Capture& capture = *part->capture;
  if (!capture.valid) return {.status = cudaStreamCaptureStatusInvalidated, .id = capture.id};
  return {.status = cudaStreamCaptureStatusActive,
          .id = capture.id,
          .graph = Graph::Pool::handle_of(capture.graph),
          .dependencies = part->dependencies.data(),
          .dependency_count = part->dependencies.size()};
}

void update_dependencies(Stream& stream, const std::vector<GraphNode*>& nodes, bool replace) {
  const std::lock_guard guard(captures().mutex);
  StreamCapture& part = active_part(stream);
  if (replace) part.dependencies.clear();
  for (const GraphNode* node : nodes) {
    if (node->graph != part.capture->graph) {
      throw RuntimeError(cudaErrorInvalidValue,
                         "a dependency is not a node of the graph being captured");
    }
    part.dependencies.push_back(GraphNode::Pool::handle_of(node));
  }
}

// ---- What a captured stream is given ----

void capture_task(Stream& stream, std::unique_ptr<Task> task, cudaGraphNodeType type) {
  const std::lock_guard guard(captures().mutex);
  add_node(active_part(stream), type, std::move(task));
}

void capture_child(Stream& stream, const Graph& graph) {
  const std::lock_guard guard(captures().mutex);
  StreamCapture& part = active_part(stream);
  const auto dependencies = resolve_nodes(part.dependencies.data(), part.dependencies.size());
  GraphNode& node = part.capture->graph->add_child(graph, dependencies);
  part.capture->added.insert(&node);
  part.dependencies = {GraphNode::Pool::handle_of(&node)};
}

void capture_record(Stream& stream, Event& event) {
  EventPoint point;
  {
    const std::lock_guard guard(captures().mutex);
    const StreamCapture& part = active_part(stream);
    point.recorded = true;
    point.capture_id = part.capture->id;
    point.captured_after = part.dependencies;
  }
  event.set_point(std::move(point));
}

bool capture_wait(Stream& stream, Event& event) {
  const EventPoint point = event.point();
  if (point.capture_id == 0 && !is_captured(stream)) return false;
  Captures& all = captures();
  const std::lock_guard guard(all.mutex);
  if (point.capture_id == 0) {
    StreamCapture& part = active_part(stream);
    if (!point.recorded) return true;
    invalidate(*part.capture, cudaErrorStreamCaptureIsolation,
               "a captured stream cannot wait for an event recorded outside of the capture");
  }
  const auto found = all.active.find(point.capture_id);
  if (found == all.active.end()) {
    throw RuntimeError(cudaErrorCapturedEvent,
                       "the event was last recorded in a capture that has ended");
  }
  Capture& capture = *found->second;
  if (!capture.valid)
    throw RuntimeError(cudaErrorStreamCaptureInvalidated, "the event's capture has become invalid");
  if (!is_captured(stream)) {
    if (stream.kind() == StreamKind::kLegacy) {
      invalidate(capture, cudaErrorStreamCaptureImplicit,
                 "the legacy default stream cannot join a capture");
    }
    join(stream, capture.streams.begin()->second->capture, point.captured_after);
    return true;
  }
  StreamCapture& part = active_part(stream);
  if (part.capture.get() != &capture) {
    part.capture->valid = false;
    invalidate(capture, cudaErrorStreamCaptureMerge, "waiting would merge two captures");
  }
  for (cudaGraphNode_t node : point.captured_after) {
    if (std::find(part.dependencies.begin(), part.dependencies.end(), node) ==
        part.dependencies.end()) {
      part.dependencies.push_back(node);
    }
  }
  return true;
}

void capture_external_wait(Stream& stream, cudaEvent_t event) {
  capture_task(stream, make_event_wait_task(event), cudaGraphNodeTypeWaitEvent);
}

void capture_external_record(Stream& stream, cudaEvent_t event) {
  capture_task(stream, make_event_record_task(event), cudaGraphNodeTypeEventRecord);
}

// ---- What is not allowed meanwhile ----

void refuse_while_captured(Stream& stream) {
  if (!is_captured(stream)) return;
  const std::lock_guard guard(captures().mutex);
  invalidate(*active_part(stream).capture, cudaErrorStreamCaptureUnsupported,
             "a stream that is being captured cannot be waited for or asked for its state");
}

void refuse_while_device_captured(VirtualDevice& device) {
  if (g_active.load(std::memory_order_acquire) == 0) return;
  for (StreamRef& stream : device.streams()) refuse_while_captured(*stream);
}

void refuse_unsafe_call() {
  if (g_active.load(std::memory_order_acquire) == 0) return;
  const cudaStreamCaptureMode own_mode = thread_state().capture_mode;
  if (own_mode == cudaStreamCaptureModeRelaxed) return;
  const std::lock_guard guard(captures().mutex);
  for (auto& [id, capture] : captures().active) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool forbids = mine ? capture->mode != cudaStreamCaptureModeRelaxed
                              : capture->mode == cudaStreamCaptureModeGlobal &&
                                    own_mode == cudaStreamCaptureModeGlobal;
    if (forbids) {
      invalidate(
          *capture, cudaErrorStreamCaptureUnsupported,
          "this call is not allowed while a stream is being captured (see cudaStreamCaptureMode)");
    }
  }
}

void refuse_implicit_dependency(VirtualDevice& device) {
  if (g_active.load(std::memory_order_acquire) == 0) return;
  for (StreamRef& stream : device.blocking_streams()) {
    if (!is_captured(*stream)) continue;
    const std::lock_guard guard(captures().mutex);
    invalidate(
        *active_part(*stream).capture, cudaErrorStreamCaptureImplicit,
        "work for the legacy default stream would depend on a stream that is being captured");
  }
}

void leave_capture(Stream& stream) noexcept {
  if (!is_captured(stream)) return;
  Captures& all = captures();
  std::map<Stream*, std::unique_ptr<StreamCapture>> parts;  // these end after the lock
  const std::lock_guard guard(all.mutex);
  const StreamCapture* own = stream.capture.load(std::memory_order_acquire);
  if (own == nullptr) return;
  Capture& capture = *own->capture;
  capture.valid = false;
  if (capture.origin == &stream) {
    dissolve(all, capture);
    parts.swap(capture.streams);
  } else {
    stream.capture.store(nullptr, std::memory_order_release);
    parts.insert(capture.streams.extract(&stream));
  }
}

}  // namespace ripieno::hostrt

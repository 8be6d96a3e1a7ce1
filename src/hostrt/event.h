// Events: a point in a stream (or in a capture) that others can wait for and read the time of. An
// event without timing costs no task at all: it is the stream's newest position at the time of the
// record.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "hostrt/handle.h"
#include "hostrt/spin_lock.h"
#include "hostrt/stream.h"

namespace ripieno::hostrt {

class SharedEvent;

/// Nanoseconds of the monotonic clock.
std::int64_t now_ns() noexcept;

/// Where an event was last recorded.
struct EventPoint {
  bool recorded = false;
  StreamRef stream;  ///< None: it had been reached when it was recorded.
  Position position = 0;
  std::shared_ptr<std::atomic<std::int64_t>>
      time;  ///< When it was reached; null for events without timing.
  /// Recorded in a capture: which, and after which nodes.
  std::uint64_t capture_id = 0;
  std::vector<cudaGraphNode_t> captured_after;

  [[nodiscard]] bool reached() const noexcept { return !stream || stream->reached(position); }
};

class Event {
 public:
  static constexpr std::uint64_t kHandleMark = 0x7269'6576'656e'7421ULL;
  using Pool = HandlePool<Event, cudaEvent_t>;

  Event(int device, unsigned flags) : device_(device), flags_(flags) {}

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] bool timed() const noexcept { return (flags_ & cudaEventDisableTiming) == 0; }
  [[nodiscard]] bool interprocess() const noexcept { return (flags_ & cudaEventInterprocess) != 0; }

  [[nodiscard]] EventPoint point();
  void set_point(EventPoint point);

  /// Records at the end of what `stream` has been given so far.
  void record(Stream& stream);
  /// Records as reached now (what a graph's record node does when it runs).
  void record_now();

  /// The part that other processes see; null unless the event was created for them, or opened from
  /// a handle.
  [[nodiscard]] const std::shared_ptr<SharedEvent>& shared() const noexcept { return shared_; }
  void share(std::shared_ptr<SharedEvent> shared) { shared_ = std::move(shared); }

 private:
  const int device_;
  const unsigned flags_;
  std::shared_ptr<SharedEvent> shared_;
  SpinLock lock_;
  EventPoint point_;  // guarded by lock_
};

/// Throws RuntimeError(cudaErrorInvalidResourceHandle).
Event& resolve_event(cudaEvent_t handle);

/// Makes what `stream` is given from now on wait for `event`.
void wait_for_event(Stream& stream, Event& event);

/// What event nodes of a graph run.
std::unique_ptr<Task> make_event_record_task(cudaEvent_t event);
std::unique_ptr<Task> make_event_wait_task(cudaEvent_t event);

}  // namespace ripieno::hostrt

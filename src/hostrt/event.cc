// Recording and waiting; see event.h.
#include "hostrt/event.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "hostrt/capture.h"
#include "hostrt/runtime.h"
#include "hostrt/shared_event.h"
#include "hostrt/submit.h"

namespace ripieno::hostrt {
namespace {

using Stamp = std::shared_ptr<std::atomic<std::int64_t>>;

/// Notes the time at its place in the stream.
class StampTask final : public Task {
 public:
  explicit StampTask(Stamp time) : time_(std::move(time)) {}
  bool poll() noexcept override {
    time_->store(now_ns(), std::memory_order_relaxed);
    return true;
  }
  void run() noexcept override { poll(); }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<StampTask>(time_);
  }

 private:
  Stamp time_;
};

/// A graph's record node. The handle is looked up when it runs, so an event that is gone by then is
/// skipped.
class EventRecordTask final : public Task {
 public:
  explicit EventRecordTask(cudaEvent_t event) : event_(event) {}
  bool poll() noexcept override {
    if (Event* event = Event::Pool::find(event_)) event->record_now();
    return true;
  }
  void run() noexcept override { poll(); }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<EventRecordTask>(event_);
  }

 private:
  cudaEvent_t event_;
};

/// A graph's wait node: waits for the event's last record as of when it starts.
class EventWaitTask final : public Task {
 public:
  explicit EventWaitTask(cudaEvent_t event) : event_(event) {}
  bool poll() noexcept override {
    start();
    return point_.reached();
  }
  void run() noexcept override {
    start();
    if (point_.stream) point_.stream->wait_for(point_.position);
  }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<EventWaitTask>(event_);
  }

 private:
  void start() {
    if (std::exchange(started_, true)) return;
    if (Event* event = Event::Pool::find(event_)) point_ = event->point();
  }

  cudaEvent_t event_;
  EventPoint point_;
  bool started_ = false;
};

}  // namespace

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

EventPoint Event::point() {
  const std::lock_guard guard(lock_);
  return point_;
}

void Event::set_point(EventPoint point) {
  {
    const std::lock_guard guard(lock_);
    std::swap(point_, point);
  }
  // The former point ends here, outside the lock: it may hold the last reference to a stream.
}

void Event::record(Stream& stream) {
  order_default_streams(stream);
  EventPoint point;
  point.recorded = true;
  if (timed()) point.time = std::make_shared<std::atomic<std::int64_t>>(0);
  if (shared_) {
    std::unique_ptr<Task> task = shared_->make_record_task();
    if (!stream.run_if_idle([&] { task->poll(); })) {
      point.position = stream.push(std::move(task));
      point.stream = StreamRef(stream);
    }
  } else if (stream.idle()) {
    if (timed()) point.time->store(now_ns(), std::memory_order_relaxed);
  } else {
    point.position =
        timed() ? stream.push(std::make_unique<StampTask>(point.time)) : stream.submitted();
    point.stream = StreamRef(stream);
  }
  set_point(std::move(point));
}

void Event::record_now() {
  EventPoint point;
  point.recorded = true;
  if (timed()) point.time = std::make_shared<std::atomic<std::int64_t>>(now_ns());
  set_point(std::move(point));
}

Event& resolve_event(cudaEvent_t handle) {
  Event* event = Event::Pool::find(handle);
  if (event == nullptr) {
    throw RuntimeError(cudaErrorInvalidResourceHandle,
                       "the event does not exist (destroyed, or never created)");
  }
  return *event;
}

void wait_for_event(Stream& stream, Event& event) {
  if (event.shared()) {
    if (auto task = event.shared()->make_wait_task()) push_ordered(stream, std::move(task));
    return;
  }
  const EventPoint point = event.point();
  if (!point.recorded || point.reached() || point.stream.get() == &stream) return;
  push_ordered(stream, std::make_unique<WaitTask>(*point.stream, point.position));
}

std::unique_ptr<Task> make_event_record_task(cudaEvent_t event) {
  return std::make_unique<EventRecordTask>(event);
}
std::unique_ptr<Task> make_event_wait_task(cudaEvent_t event) {
  return std::make_unique<EventWaitTask>(event);
}

}  // namespace ripieno::hostrt

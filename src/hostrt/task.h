// What a stream of the host runtime executes. A Task can be advanced in small non-blocking steps
// (so that the thread that submits it may finish it on the spot, without a thread hand-off) or run
// to its end by a blocking thread.
#pragma once

#include <chrono>
#include <memory>

namespace ripieno::hostrt {

/// One piece of work in stream order. Exactly one thread at a time calls poll() or run(); calls may
/// move between threads, with a happens-before edge in between. A task never throws out of these
/// functions: it records its own failure with whoever submitted it.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// Called once in submission order, when the task enters a stream that is not being captured (and
  /// for each copy that a graph launch submits). Must not block, nor call the runtime: the stream
  /// is locked meanwhile.
  virtual void enqueued() noexcept {}

  /// Advances as far as it can without blocking; true when the task has finished. The first call
  /// starts the task.
  virtual bool poll() noexcept = 0;

  /// Blocks until the task has finished. May follow any number of poll() calls that returned false.
  virtual void run() noexcept = 0;

  /// How long the submitting thread may keep polling this task when its stream is idle. Zero: hand
  /// it to the stream's worker at once.
  [[nodiscard]] virtual std::chrono::nanoseconds inline_budget() const noexcept {
    return std::chrono::nanoseconds{0};
  }

  /// An equal task that has not started: what a graph launch submits in place of the captured one.
  [[nodiscard]] virtual std::unique_ptr<Task> clone() const = 0;

  /// Whether a clone can still do its work. A graph with a task that cannot is not launched.
  [[nodiscard]] virtual bool is_live() const noexcept { return true; }
};

}  // namespace ripieno::hostrt

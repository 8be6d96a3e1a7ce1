// Algorithms as coroutines. A collective reads like its textbook schedule and says `co_await` where
// it needs a peer; who drives it decides whether to poll it (a thread that drives several ranks, or
// tries an operation on the spot) or to block. A Waiting object is what a suspended schedule waits
// for.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace ripieno {

/// A condition that other ranks make true. Lives in the frame of the schedule that waits for it.
class Waiting {
 public:
  /// Whether the condition holds. Cheap, called in spin loops.
  [[nodiscard]] virtual bool ready() noexcept = 0;
  /// Whether `rank` has yet to act for the condition to hold: names culprits, notices those who can
  /// no longer act.
  [[nodiscard]] virtual bool waits_for(int rank) const noexcept = 0;

  // The condition is its own awaiter.
  [[nodiscard]] bool await_ready() noexcept { return ready(); }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> schedule) noexcept {
    schedule.promise().waiting = this;
  }
  void await_resume() const noexcept {}

 protected:
  Waiting() = default;
  ~Waiting() = default;
};

/// A running algorithm. Moves only; destroying it abandons the algorithm at its present co_await.
class Schedule {
 public:
  struct promise_type {
    Schedule get_return_object() noexcept {
      return Schedule(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }

    Waiting* waiting = nullptr;
    std::exception_ptr failure;
  };

  Schedule() = default;
  Schedule(Schedule&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Schedule& operator=(Schedule&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Schedule() {
    if (handle_) {
      handle_.destroy();
    }
  }

  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

  /// Advances until the schedule waits for something that has not happened; true when it has
  /// finished. Throws what the algorithm threw.
  bool poll() {
    promise_type& promise = handle_.promise();
    if (handle_.done()) {
      return true;
    }
    if (promise.waiting != nullptr && !promise.waiting->ready()) {
      return false;
    }
    promise.waiting = nullptr;
    handle_.resume();
    if (promise.failure) {
      std::rethrow_exception(std::exchange(promise.failure, nullptr));
    }
    return handle_.done();
  }

  /// What a suspended schedule waits for; nullptr before its first poll and after its end.
  [[nodiscard]] Waiting* waiting() const noexcept {
    return handle_ && !handle_.done() ? handle_.promise().waiting : nullptr;
  }

 private:
  explicit Schedule(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace ripieno

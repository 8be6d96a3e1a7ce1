// What the tests of the host runtime share: tasks with a gate or a diary, and owners for streams
// and events.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "hostrt/cuda_functions.h"
#include "hostrt/runtime.h"

namespace ripieno::hostrt {

#define ASSERT_CUDA(call) ASSERT_EQ(cudaSuccess, call)
#define EXPECT_CUDA(call) EXPECT_EQ(cudaSuccess, call)

constexpr std::chrono::microseconds kInline{200};
constexpr std::chrono::nanoseconds kNotInline{0};

/// Looks until `condition` holds; false after ten seconds.
inline bool eventually(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Closed until opened; any number of tasks may wait at it.
class Gate {
 public:
  void open() { open_.store(true, std::memory_order_release); }
  [[nodiscard]] bool is_open() const { return open_.load(std::memory_order_acquire); }
  void pass() const {
    while (!is_open()) std::this_thread::sleep_for(std::chrono::microseconds{50});
  }

 private:
  std::atomic<bool> open_{false};
};

/// What happened, in order.
class Diary {
 public:
  void write(int entry) {
    const std::lock_guard guard(mutex_);
    entries_.push_back(entry);
  }
  [[nodiscard]] std::vector<int> entries() const {
    const std::lock_guard guard(mutex_);
    return entries_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> entries_;
};

/// A task made of functions: done when `ready` says so, then `act` runs once.
class TestTask final : public Task {
 public:
  struct Script {
    std::function<bool()> ready = [] { return true; };
    std::function<void()> act = [] {};
    std::function<void()> enqueued = [] {};
    std::chrono::nanoseconds budget = kNotInline;
  };
  explicit TestTask(Script script) : script_(std::move(script)) {}
  void enqueued() noexcept override { script_.enqueued(); }
  bool poll() noexcept override {
    if (!script_.ready()) return false;
    script_.act();
    return true;
  }
  void run() noexcept override {
    while (!poll()) std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
  [[nodiscard]] std::chrono::nanoseconds inline_budget() const noexcept override {
    return script_.budget;
  }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<TestTask>(script_);
  }

 private:
  Script script_;
};

inline std::unique_ptr<Task> make_task(TestTask::Script script) {
  return std::make_unique<TestTask>(std::move(script));
}

inline std::unique_ptr<Task> write_task(Diary& diary, int entry,
                                        std::chrono::nanoseconds budget = kNotInline) {
  return make_task({.act = [&diary, entry] { diary.write(entry); }, .budget = budget});
}

inline std::unique_ptr<Task> gate_task(const Gate& gate,
                                       std::chrono::nanoseconds budget = kNotInline) {
  return make_task({.ready = [&gate] { return gate.is_open(); }, .budget = budget});
}

class OwnedStream {
 public:
  explicit OwnedStream(unsigned flags = cudaStreamNonBlocking) {
    EXPECT_CUDA(cuda::cudaStreamCreateWithFlags(&handle_, flags));
  }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream() { EXPECT_CUDA(cuda::cudaStreamDestroy(handle_)); }
  operator cudaStream_t() const { return handle_; }
  void synchronize() const { EXPECT_CUDA(cuda::cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
};

class OwnedEvent {
 public:
  explicit OwnedEvent(unsigned flags = cudaEventDefault) {
    EXPECT_CUDA(cuda::cudaEventCreateWithFlags(&handle_, flags));
  }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  ~OwnedEvent() { EXPECT_CUDA(cuda::cudaEventDestroy(handle_)); }
  operator cudaEvent_t() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace ripieno::hostrt

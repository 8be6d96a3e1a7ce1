// A stream: a queue of tasks in order and the role of executing them, which at most one thread
// holds at a time: the thread that submits (an inline attempt), a thread that waits for the stream
// (it steals the role rather than sleep), or the stream's worker, which is started when the first
// task is left to it.
//
// Every task has a position (1, 2, ...). `submitted` is the position of the newest, `completed`
// that of the last finished one; all waiting is for `completed` to reach a position. Streams are
// counted references: an event or a waiting task may outlive the handle.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "hostrt/handle.h"
#include "hostrt/spin_lock.h"
#include "hostrt/task.h"

namespace ripieno::hostrt {

class StreamCapture;

/// How a stream is ordered with the device's legacy default stream.
enum class StreamKind : std::uint8_t {
  kLegacy,       ///< The legacy default stream itself.
  kBlocking,     ///< Ordered with it (also the threads' own default streams).
  kNonBlocking,  ///< Not ordered with it.
};

using Position = std::uint64_t;

/// Aligned to a cache line: other threads poll `completed` while their neighbours' streams are
/// busy.
class alignas(64) Stream {
 public:
  static constexpr std::uint64_t kHandleMark = 0x7269'7374'7265'616dULL;
  using Pool = HandlePool<Stream, cudaStream_t>;

  Stream(int device, StreamKind kind, int priority);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] StreamKind kind() const noexcept { return kind_; }
  [[nodiscard]] int priority() const noexcept { return priority_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  [[nodiscard]] Position submitted() const noexcept {
    return submitted_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool reached(Position position) const noexcept {
    return completed_.load(std::memory_order_acquire) >= position;
  }
  [[nodiscard]] bool idle() const noexcept { return reached(submitted()); }

  // ---- Submitting ----

  /// What became of a task that was offered to add().
  struct Added {
    Position position;
    /// Nobody executed the stream: the caller now holds the role, and has the first task in line
    /// to poll, its own or one that was waiting for the worker.
    bool role;
  };
  /// Appends `task`, calling its enqueued(). With `may_inline`, gives the role to the caller if
  /// nobody holds it and the first task in line has an inline budget.
  Added add(std::unique_ptr<Task>& task, bool may_inline);
  /// Appends `task` for the worker (or for whoever waits).
  Position push(std::unique_ptr<Task> task) { return add(task, false).position; }

  /// Runs `operation` here and now if the stream is idle; false (nothing done) if not. For
  /// operations that need no task.
  template <class Operation>
  bool run_if_idle(Operation&& operation) {
    if (!begin_immediate()) return false;
    std::forward<Operation>(operation)();
    finish(0);
    return true;
  }

  /// For the holder of the role, after its task has finished and is destroyed: gives the role back.
  /// Where the next task in line has an inline budget and a position up to `last_wanted`, returns
  /// it instead and lets the caller keep the role.
  std::unique_ptr<Task> finish(Position last_wanted);
  /// For the holder of the role: puts an unfinished task back at the head and leaves it to the
  /// worker.
  void give_up(std::unique_ptr<Task> task);

  // ---- Waiting ----

  /// Returns when `completed` has reached `position`; runs tasks itself where nobody does yet.
  void wait_for(Position position);

  // ---- Life ----

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  /// The owner's farewell, in place of release(): pending tasks are still completed, then the
  /// worker ends.
  void close();

  /// Set while the stream is being captured (owned by the capture, see capture.h).
  std::atomic<StreamCapture*> capture{nullptr};
  /// How far this stream has already been told to wait for the device's legacy stream.
  std::atomic<Position> ordered_after_legacy{0};

 private:
  /// What has to be done once the lock is free again.
  struct Afterwards {
    bool wake_waiters = false;
    bool wake_worker = false;
    bool start_worker = false;
    bool drop_owner = false;
  };
  using Lock = std::unique_lock<SpinLock>;

  bool begin_immediate() noexcept;
  void want_worker(Afterwards& afterwards) noexcept;
  void complete_one(Afterwards& afterwards) noexcept;
  void leave_role(Afterwards& afterwards) noexcept;
  void execute_until(Position position, Lock& lock) noexcept;
  void carry_out(const Afterwards& afterwards) noexcept;
  void start_worker() noexcept;
  void work() noexcept;
  void sleep_until(Position position) noexcept;

  const int device_;
  const StreamKind kind_;
  const int priority_;
  const std::uint64_t id_;

  SpinLock lock_;
  // Guarded by lock_; submitted_ and completed_ may be read without it.
  bool role_taken_ = false;
  bool worker_started_ = false;
  bool worker_asleep_ = false;
  bool closed_ = false;
  bool owner_pending_ =
      false;  // closed with tasks pending: the last of them drops the owner's reference
  static constexpr Position kNobodyWaits = UINT64_MAX;
  Position wanted_ = kNobodyWaits;  // the first position that somebody sleeps for
  std::atomic<Position> submitted_{0};
  std::atomic<Position> completed_{0};
  std::deque<std::unique_ptr<Task>> queue_;
  std::thread worker_;

  std::atomic<std::uint32_t> worker_word_{0};    // the worker sleeps on it
  std::atomic<std::uint32_t> progress_word_{0};  // waiters sleep on it
  std::atomic<std::uint32_t> references_{1};
};

/// A counted reference to a stream.
class StreamRef {
 public:
  StreamRef() = default;
  explicit StreamRef(Stream& stream) noexcept : stream_(&stream) { stream.retain(); }
  StreamRef(const StreamRef& other) noexcept : stream_(other.stream_) {
    if (stream_ != nullptr) stream_->retain();
  }
  StreamRef(StreamRef&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  StreamRef& operator=(StreamRef other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~StreamRef() {
    if (stream_ != nullptr) stream_->release();
  }
  [[nodiscard]] Stream* get() const noexcept { return stream_; }
  Stream* operator->() const noexcept { return stream_; }
  Stream& operator*() const noexcept { return *stream_; }
  explicit operator bool() const noexcept { return stream_ != nullptr; }

 private:
  Stream* stream_ = nullptr;
};

/// Waits for another stream to reach a position.
class WaitTask final : public Task {
 public:
  WaitTask(Stream& other, Position position) : other_(other), position_(position) {}
  bool poll() noexcept override { return other_->reached(position_); }
  void run() noexcept override { other_->wait_for(position_); }
  [[nodiscard]] std::chrono::nanoseconds inline_budget() const noexcept override {
    return std::chrono::microseconds{20};
  }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<WaitTask>(*other_, position_);
  }

 private:
  StreamRef other_;
  Position position_;
};

}  // namespace ripieno::hostrt

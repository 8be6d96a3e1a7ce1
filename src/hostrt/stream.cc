// The queue, the executor role and waiting; see stream.h. All decisions are taken under the
// stream's spin lock, system calls that follow from them are made after it is free again.
#include "hostrt/stream.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <system_error>

#include "hostrt/futex.h"
#include "hostrt/process.h"

namespace ripieno::hostrt {
namespace {

std::atomic<std::uint64_t> g_next_stream_id{1};

/// A thread that waits runs tasks of the stream it waits for, which may wait for another stream in
/// turn. Beyond this depth it sleeps instead: the worker has the task then.
constexpr int kMaxStealDepth = 8;
constinit thread_local int t_steal_depth = 0;

}  // namespace

Stream::Stream(int device, StreamKind kind, int priority)
    : device_(device), kind_(kind), priority_(priority), id_(g_next_stream_id.fetch_add(1)) {
  mark_started();
}

Stream::~Stream() = default;

Stream::Added Stream::add(std::unique_ptr<Task>& task, bool may_inline) {
  Afterwards afterwards;
  Position position;
  {
    const std::lock_guard guard(lock_);
    position = submitted_.load(std::memory_order_relaxed) + 1;
    const bool free = may_inline && !role_taken_;
    const bool inline_now = free && queue_.empty();
    if (!inline_now) queue_.push_back(nullptr);
    submitted_.store(position, std::memory_order_release);
    task->enqueued();
    if (inline_now) {
      role_taken_ = true;
      return {position, true};
    }
    queue_.back() = std::move(task);
    // Tasks that were left to a worker which has not had a core since are this thread's again.
    if (free && queue_.front()->inline_budget().count() > 0) {
      role_taken_ = true;
      task = std::move(queue_.front());
      queue_.pop_front();
      return {position, true};
    }
    // Whoever holds the role looks at the queue before leaving it; otherwise the worker must be
    // told.
    if (!role_taken_) want_worker(afterwards);
  }
  carry_out(afterwards);
  return {position, false};
}

bool Stream::begin_immediate() noexcept {
  const std::lock_guard guard(lock_);
  if (role_taken_ || !queue_.empty()) return false;
  role_taken_ = true;
  submitted_.store(submitted_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return true;
}

std::unique_ptr<Task> Stream::finish(Position last_wanted) {
  Afterwards afterwards;
  std::unique_ptr<Task> next;
  {
    const std::lock_guard guard(lock_);
    complete_one(afterwards);
    if (completed_.load(std::memory_order_relaxed) < last_wanted && !queue_.empty() &&
        queue_.front()->inline_budget().count() > 0) {
      next = std::move(queue_.front());
      queue_.pop_front();
    } else {
      leave_role(afterwards);
    }
  }
  carry_out(afterwards);
  return next;
}

void Stream::give_up(std::unique_ptr<Task> task) {
  Afterwards afterwards;
  {
    const std::lock_guard guard(lock_);
    queue_.push_front(std::move(task));
    leave_role(afterwards);
  }
  carry_out(afterwards);
}

// ---- Under the lock ----

void Stream::complete_one(Afterwards& afterwards) noexcept {
  const Position completed = completed_.load(std::memory_order_relaxed) + 1;
  completed_.store(completed, std::memory_order_release);
  if (completed < wanted_) return;
  wanted_ = kNobodyWaits;  // Those who are woken too early ask again.
  progress_word_.fetch_add(1, std::memory_order_relaxed);
  afterwards.wake_waiters = true;
}

void Stream::leave_role(Afterwards& afterwards) noexcept {
  role_taken_ = false;
  if (!queue_.empty()) {
    want_worker(afterwards);
  } else if (closed_) {
    afterwards.drop_owner = std::exchange(owner_pending_, false);
    if (worker_started_) want_worker(afterwards);  // to end
  }
}

void Stream::want_worker(Afterwards& afterwards) noexcept {
  if (!worker_started_) {
    worker_started_ = true;
    afterwards.start_worker = true;
  } else if (worker_asleep_) {
    worker_asleep_ = false;
    worker_word_.fetch_add(1, std::memory_order_relaxed);
    afterwards.wake_worker = true;
  }
}

void Stream::execute_until(Position position, Lock& lock) noexcept {
  while (!queue_.empty() && !reached(position)) {
    std::unique_ptr<Task> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task->run();
    task.reset();
    Afterwards afterwards;
    lock.lock();
    complete_one(afterwards);
    if (afterwards.wake_waiters) {
      lock.unlock();
      carry_out(afterwards);
      lock.lock();
    }
  }
}

// ---- After it ----

void Stream::carry_out(const Afterwards& afterwards) noexcept {
  // The stream may be gone by now where only waiters are to be woken; its memory stays (see
  // HandlePool), so the worst that can happen is a wake-up that nobody needs.
  if (afterwards.wake_waiters) futex_wake_all(progress_word_);
  if (afterwards.wake_worker) futex_wake_all(worker_word_);
  if (afterwards.start_worker) start_worker();
  if (afterwards.drop_owner) release();
}

void Stream::start_worker() noexcept {
  retain();
  std::thread worker;
  try {
    worker = start_thread("ripieno-stream", [this] { work(); });
  } catch (const std::system_error&) {
    // No thread to be had: the caller does the work itself, late but right.
    Lock lock(lock_);
    worker_started_ = false;
    if (!role_taken_) {
      role_taken_ = true;
      execute_until(UINT64_MAX, lock);
      Afterwards afterwards;
      leave_role(afterwards);
      lock.unlock();
      carry_out(afterwards);
    } else {
      lock.unlock();
    }
    release();
    return;
  }
  const std::lock_guard guard(lock_);
  if (closed_) {
    worker.detach();
  } else {
    worker_ = std::move(worker);
  }
}

void Stream::work() noexcept {
  Lock lock(lock_);
  while (true) {
    worker_asleep_ = false;
    if (!role_taken_ && !queue_.empty()) {
      role_taken_ = true;
      execute_until(UINT64_MAX, lock);
      role_taken_ = false;
    }
    const bool finished = closed_ && !role_taken_ && queue_.empty();
    if (finished) break;
    worker_asleep_ = true;
    const std::uint32_t word = worker_word_.load(std::memory_order_relaxed);
    lock.unlock();
    futex_wait(worker_word_, word);
    lock.lock();
  }
  const bool drop_owner = std::exchange(owner_pending_, false);
  lock.unlock();
  if (drop_owner) release();
  release();
}

// ---- Waiting ----

void Stream::wait_for(Position position) {
  if (reached(position)) return;
  if (t_steal_depth < kMaxStealDepth) {
    Lock lock(lock_);
    if (!role_taken_ && !queue_.empty()) {
      role_taken_ = true;
      ++t_steal_depth;
      execute_until(position, lock);
      --t_steal_depth;
      Afterwards afterwards;
      leave_role(afterwards);
      lock.unlock();
      carry_out(afterwards);
    }
  }
  while (!reached(position)) sleep_until(position);
}

void Stream::sleep_until(Position position) noexcept {
  constexpr int kSpins = 100;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (reached(position)) return;
    cpu_pause();
  }
  Lock lock(lock_);
  if (reached(position)) return;
  wanted_ = std::min(wanted_, position);
  const std::uint32_t word = progress_word_.load(std::memory_order_relaxed);
  lock.unlock();
  futex_wait(progress_word_, word);
}

// ---- Life ----

void Stream::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Pool::destroy(this);
}

void Stream::close() {
  Afterwards afterwards;
  std::thread worker;
  bool pending;
  {
    const std::lock_guard guard(lock_);
    closed_ = true;
    pending = role_taken_ || !queue_.empty();
    owner_pending_ = pending;
    worker = std::move(worker_);
    if (worker_started_) want_worker(afterwards);
  }
  carry_out(afterwards);
  if (worker.joinable()) {
    const bool own_thread = worker.get_id() == std::this_thread::get_id();
    if (pending || own_thread) {
      worker.detach();
    } else {
      worker.join();
    }
  }
  if (!pending) release();
}

}  // namespace ripieno::hostrt

// The part of an event that several processes see: two counters in device memory, how often it was
// recorded and the newest record that was reached. The creator's arena holds them, others map it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "hostrt/task.h"

namespace ripieno::hostrt {

class Import;

/// Lies in the creator's arena. Any process of the host writes.
struct SharedEventWords {
  std::atomic<std::uint64_t> recorded{0};  ///< Records submitted so far.
  std::atomic<std::uint64_t> reached{0};   ///< Largest record that was reached.
  std::atomic<std::uint32_t> wake{0};      ///< Changes with `reached`; futex of all processes.
};
static_assert(sizeof(SharedEventWords) == 24);

class SharedEvent : public std::enable_shared_from_this<SharedEvent> {
 public:
  /// In this process's arena, as `device`'s memory.
  static std::shared_ptr<SharedEvent> create(int device);
  /// In another process's arena.
  static std::shared_ptr<SharedEvent> open(std::shared_ptr<Import> import, std::uint64_t offset);
  ~SharedEvent();

  [[nodiscard]] void* memory() const noexcept { return words_; }

  /// Counts a record now and returns the task that reaches it.
  [[nodiscard]] std::unique_ptr<Task> make_record_task();
  /// Waits for the newest record as of now; null where that has been reached.
  [[nodiscard]] std::unique_ptr<Task> make_wait_task();

  [[nodiscard]] std::uint64_t newest() const noexcept {
    return words_->recorded.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool reached(std::uint64_t record) const noexcept {
    return words_->reached.load(std::memory_order_acquire) >= record;
  }
  void reach(std::uint64_t record) noexcept;
  /// Returns when `record` is reached, or when the process that owns the event is gone.
  void wait(std::uint64_t record) noexcept;

 private:
  SharedEvent() = default;

  SharedEventWords* words_ = nullptr;
  std::shared_ptr<Import> import_;  // null: ours
};

}  // namespace ripieno::hostrt

// Records and waits across processes; see shared_event.h.
#include "hostrt/shared_event.h"

#include <new>
#include <utility>

#include "hostrt/arena.h"
#include "hostrt/futex.h"
#include "hostrt/import.h"
#include "hostrt/process.h"

namespace ripieno::hostrt {
namespace {

class SharedRecordTask final : public Task {
 public:
  SharedRecordTask(std::shared_ptr<SharedEvent> event, std::uint64_t record)
      : event_(std::move(event)), record_(record) {}
  bool poll() noexcept override {
    event_->reach(record_);
    return true;
  }
  void run() noexcept override { poll(); }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<SharedRecordTask>(event_, record_);
  }

 private:
  std::shared_ptr<SharedEvent> event_;
  std::uint64_t record_;
};

class SharedWaitTask final : public Task {
 public:
  SharedWaitTask(std::shared_ptr<SharedEvent> event, std::uint64_t record)
      : event_(std::move(event)), record_(record) {}
  bool poll() noexcept override { return event_->reached(record_); }
  void run() noexcept override { event_->wait(record_); }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<SharedWaitTask>(event_, record_);
  }

 private:
  std::shared_ptr<SharedEvent> event_;
  std::uint64_t record_;
};

}  // namespace

std::shared_ptr<SharedEvent> SharedEvent::create(int device) {
  std::shared_ptr<SharedEvent> event(new SharedEvent);
  void* memory = Arena::instance().allocate(device, sizeof(SharedEventWords), MemoryKind::kDevice);
  event->words_ = new (memory) SharedEventWords;
  return event;
}

std::shared_ptr<SharedEvent> SharedEvent::open(std::shared_ptr<Import> import,
                                               std::uint64_t offset) {
  std::shared_ptr<SharedEvent> event(new SharedEvent);
  event->words_ =
      std::launder(reinterpret_cast<SharedEventWords*>(import->memory().data() + offset));
  event->import_ = std::move(import);
  return event;
}

SharedEvent::~SharedEvent() {
  if (!import_ && words_ != nullptr && !forked()) Arena::instance().release(words_);
}

std::unique_ptr<Task> SharedEvent::make_record_task() {
  const std::uint64_t record = words_->recorded.fetch_add(1, std::memory_order_acq_rel) + 1;
  return std::make_unique<SharedRecordTask>(shared_from_this(), record);
}

std::unique_ptr<Task> SharedEvent::make_wait_task() {
  const std::uint64_t record = newest();
  if (reached(record)) return nullptr;
  return std::make_unique<SharedWaitTask>(shared_from_this(), record);
}

void SharedEvent::reach(std::uint64_t record) noexcept {
  std::uint64_t before = words_->reached.load(std::memory_order_relaxed);
  while (before < record &&
         !words_->reached.compare_exchange_weak(before, record, std::memory_order_acq_rel)) {
  }
  words_->wake.fetch_add(1, std::memory_order_acq_rel);
  futex_wake_all(words_->wake, FutexScope::kHost);
}

void SharedEvent::wait(std::uint64_t record) noexcept {
  // The recording process may die: whoever owns the event is watched through the import's link.
  constexpr std::chrono::milliseconds kLook{100};
  while (true) {
    const std::uint32_t word = words_->wake.load(std::memory_order_acquire);
    if (reached(record)) return;
    if (import_ && import_->owner_gone()) return;
    futex_wait(words_->wake, word, kLook, FutexScope::kHost);
  }
}

}  // namespace ripieno::hostrt

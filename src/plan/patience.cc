// Spinning, yielding, sleeping, and the report of a stall.
#include "plan/patience.h"

#include <sched.h>

#include "base/log.h"
#include "base/parameters.h"

namespace ripieno::plan {
namespace {

constexpr SecondsParameter kStallSeconds{"RIPIENO_STALL_SECONDS"};

constexpr int kSpins = 200;
constexpr int kYields = 100;
constexpr std::chrono::milliseconds kNap{100};

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Patience::pause() {
  ++pauses_;
  if (pauses_ <= kSpins) {
    relax();
    return;
  }
  if (pauses_ <= kSpins + kYields) {
    sched_yield();
    return;
  }
  sequencer_.check_peers(waiter_.waiting());
  sleep();
}

void Patience::sleep() {
  const auto now = std::chrono::steady_clock::now();
  if (begin_.time_since_epoch().count() == 0) {
    begin_ = now;
  }
  const std::chrono::seconds limit = kStallSeconds.value();
  if (!reported_ && limit.count() > 0 && now - begin_ >= limit) {
    report_stall();
  }
  sequencer_.sleep(kNap, [&] { return sequencer_.stopped() || waiter_.can_advance(); });
}

void Patience::report_stall() {
  reported_ = true;
  const Waiting* waiting = waiter_.waiting();
  if (waiting == nullptr) {
    log_warn(log_subsystem::kColl,
             "{}: {} has waited {} s for an earlier operation of the same communicator",
             sequencer_.label(), waiter_.describe(), kStallSeconds.value().count());
    return;
  }
  std::string missing;
  for (int rank = 0; rank < sequencer_.ranks(); ++rank) {
    if (rank != sequencer_.rank() && waiting->waits_for(rank)) {
      missing += fmt::format("{}{} (process {})", missing.empty() ? "" : ", ", rank,
                             sequencer_.team().page().line(rank).process_id);
    }
  }
  log_warn(log_subsystem::kColl, "{}: {} has waited {} s for rank(s) {}", sequencer_.label(),
           waiter_.describe(), kStallSeconds.value().count(), missing);
}

}  // namespace ripieno::plan

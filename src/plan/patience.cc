// Spinning, yielding, sleeping, and the report of a stall.
#include "plan/patience.h"

#include "base/log.h"
#include "base/parameters.h"

namespace ripieno::plan {
namespace {

constexpr SecondsParameter kStallSeconds{"RIPIENO_STALL_SECONDS"};

/// A wait is long after so much time and so many offers of the core. Waking a sleeper takes tens of
/// microseconds, more on a virtual machine: peers that slept sooner than that would send each other
/// to sleep in turn.
constexpr std::chrono::microseconds kAwake{500};
constexpr int kLeastYields = 100;
constexpr std::chrono::milliseconds kNap{100};

}  // namespace

void Patience::pause() {
  const auto now = hostrt::Spinning::Clock::now();
  if (now - begin_ < kAwake || spinning_.yields() < kLeastYields) {
    spinning_.pause(now);
    return;
  }
  sequencer_.check_peers(waiter_.waiting());
  sleep(now);
}

void Patience::sleep(hostrt::Spinning::Clock::time_point now) {
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

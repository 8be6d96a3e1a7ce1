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
  if (const Waiting* const waiting = waiter_.waiting()) {
    deadlock_check_.look(sequencer_, *waiting, now);
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
  log_warn(log_subsystem::kColl, "{}: {} has waited {} s for rank(s) {}. {}", sequencer_.label(),
           waiter_.describe(), kStallSeconds.value().count(), missing,
           where_others_stand(*waiting));
}

/// Those waited for first; a line must end somewhere.
std::string Patience::where_others_stand(const Waiting& waiting) const {
  constexpr int kMost = 16;
  std::string text;
  int told = 0;
  for (const bool missing : {true, false}) {
    for (int rank = 0; rank < sequencer_.ranks() && told < kMost; ++rank) {
      if (rank != sequencer_.rank() && waiting.waits_for(rank) == missing) {
        const auto state = observe::read(sequencer_.team().page().flight_line(rank));
        text +=
            fmt::format("{}rank {} {}", told++ == 0 ? "" : ", ", rank, observe::describe(state));
      }
    }
  }
  const int others = sequencer_.ranks() - 1 - told;
  return others > 0 ? fmt::format("{}, and {} more", text, others) : text;
}

}  // namespace ripieno::plan

// Finds two ranks that wait for each other in different kinds of operations: one in a collective,
// the other in a message to it. Announcements are compared between collectives only, so this is
// seen on the flight board instead, once both have stood still for a while.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "base/schedule.h"
#include "plan/sequencer.h"

namespace ripieno::plan {

class DeadlockCheck {
 public:
  using Clock = std::chrono::steady_clock;

  /// Looks at the ranks that `waiting` waits for. Throws Error (ncclInvalidUsage) naming both calls
  /// once a pair has stood still long enough.
  void look(Sequencer& sequencer, const Waiting& waiting, Clock::time_point now);

 private:
  struct Suspect {
    std::uint64_t ordinal;    ///< Of its plan.
    Clock::time_point since;  ///< Seen there first.
  };
  std::map<int, Suspect> suspects_;
};

}  // namespace ripieno::plan

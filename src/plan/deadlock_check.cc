// Two plans of one operation each, of different kinds, that need each other: plans of a
// communicator run in order, so neither rank can come to what the other waits for.
#include "plan/deadlock_check.h"

namespace ripieno::plan {
namespace {

using observe::FlightEntry;
using observe::FlightState;

constexpr std::chrono::milliseconds kStandstill{1500};

bool need_each_other(const FlightEntry& mine, int my_rank, const FlightState& other,
                     int their_rank) noexcept {
  const FlightEntry& theirs = other.last;
  if (!other.is_busy() || mine.operations != 1 || theirs.operations != 1) {
    return false;
  }
  const bool my_message = observe::is_message(mine);
  if (my_message == observe::is_message(theirs)) {
    return false;
  }
  return my_message ? mine.root == their_rank : theirs.root == my_rank;
}

}  // namespace

void DeadlockCheck::look(Sequencer& sequencer, const Waiting& waiting, Clock::time_point now) {
  const transport::ControlPage& page = sequencer.team().page();
  const FlightState mine = observe::read(page.flight_line(sequencer.rank()));
  for (int rank = 0; rank < sequencer.ranks(); ++rank) {
    if (rank == sequencer.rank() || !waiting.waits_for(rank)) {
      continue;
    }
    const FlightState other = observe::read(page.flight_line(rank));
    if (!need_each_other(mine.last, sequencer.rank(), other, rank)) {
      suspects_.erase(rank);
      continue;
    }
    const auto [suspect, is_new] =
        suspects_.try_emplace(rank, Suspect{.ordinal = other.entered, .since = now});
    if (suspect->second.ordinal != other.entered) {
      suspect->second = {.ordinal = other.entered, .since = now};
    } else if (now - suspect->second.since >= kStandstill) {
      throw Error(ncclInvalidUsage,
                  "ranks disagree: rank {} is in {}, but rank {} is in {}; each waits for the "
                  "other. Every rank must call collectives and messages in an order in which they "
                  "can meet",
                  sequencer.rank(), observe::describe(mine.last), rank,
                  observe::describe(other.last));
    }
  }
}

}  // namespace ripieno::plan

// One rank's plans, one after the other, and every reason to stop them. Plans of a communicator run
// in the order in which they entered their streams, whatever streams those are. When the rank
// fails, is aborted, or a peer is gone, all its plans end at once and the reason is kept.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/schedule.h"
#include "transport/host_team.h"

namespace ripieno::tune {
class Tuner;
}  // namespace ripieno::tune

namespace ripieno::plan {

class Executor;

/// Thread-safe, except team(), which belongs to the plan whose turn it is.
class Sequencer {
 public:
  /// `label` names the communicator in messages ("communicator 0x1234 rank 2 of 4").
  Sequencer(std::unique_ptr<transport::HostTeam> team, std::string label);
  ~Sequencer();

  [[nodiscard]] transport::HostTeam& team() noexcept { return *team_; }
  [[nodiscard]] int rank() const noexcept { return team_->rank(); }
  [[nodiscard]] int ranks() const noexcept { return team_->ranks(); }
  [[nodiscard]] const std::string& label() const noexcept { return label_; }
  /// Before the first plan.
  void set_tuner(std::shared_ptr<const tune::Tuner> tuner) noexcept { tuner_ = std::move(tuner); }
  /// Who chooses algorithms; null where only built-in thresholds do.
  [[nodiscard]] const tune::Tuner* tuner() const noexcept { return tuner_.get(); }

  /// Who runs the rank's operations instead of tasks; nullptr on the host.
  [[nodiscard]] Executor* executor() const noexcept { return executor_.get(); }
  /// Once, before the first operation.
  void set_executor(std::unique_ptr<Executor> executor) noexcept;

  // ---- Order ----

  /// A plan's place in the order; taken when it enters its stream.
  [[nodiscard]] std::uint64_t take_ticket() noexcept {
    return issued_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Whether all plans with earlier tickets have ended.
  [[nodiscard]] bool is_turn(std::uint64_t ticket) const noexcept {
    return ended_.load(std::memory_order_seq_cst) >= ticket;
  }
  /// Ordinal of the next collective; called by the plan whose turn it is.
  [[nodiscard]] std::uint64_t next_collective() noexcept { return ++collectives_; }
  [[nodiscard]] std::uint64_t collectives_so_far() const noexcept { return collectives_; }
  /// Begins a plan, and writes it on the flight board.
  void begin_plan(const observe::FlightEntry& entry) noexcept {
    begun_.fetch_add(1, std::memory_order_seq_cst);
    team_->page().flight_line(rank()).enter(entry);
  }
  /// Ends a plan; `begun` tells whether begin_plan() was called for it.
  void end_plan(bool begun) noexcept;
  /// Waits until every plan issued so far has ended; false when `timeout` passes first.
  [[nodiscard]] bool wait_for_plans(std::chrono::milliseconds timeout) const;

  // ---- Stopping ----

  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
  /// Records the first failure, tells the peers and wakes everything. Later ones are ignored.
  void fail(const Error& error) noexcept;
  /// The process that holds `ranks` has ended: those that had not left are dead, and this rank
  /// fails.
  void peer_process_died(const std::vector<int>& ranks) noexcept;
  /// Stops without telling peers anything but that this rank is gone; waits (bounded) until no plan
  /// is running.
  void abort() noexcept;
  /// Leaves in good order.
  void leave() noexcept;
  /// Stops all operations for good, but stays where the ranks meet. Bounded like abort().
  void revoke() noexcept;
  /// The failure, ncclSuccess if there is none.
  [[nodiscard]] ncclResult_t failure() const noexcept {
    return failure_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::string failure_text() const;
  /// Throws Error when a peer has failed, died, aborted, or left although `waiting` needs it.
  void check_peers(const Waiting* waiting) const;

  // ---- Sleeping ----

  /// Sleeps until the rank's bell rings or `timeout` passes, unless `last_look` returns true once
  /// the bell is watched.
  template <typename LastLook>
  void sleep(std::chrono::milliseconds timeout, LastLook last_look) {
    team_->page().sleep(rank(), timeout, last_look);
  }

 private:
  void stop(transport::Presence presence) noexcept;
  [[nodiscard]] Error death_of(int peer) const;
  void give_up() noexcept;
  void wait_for_running_plans() const noexcept;

  std::unique_ptr<transport::HostTeam> team_;
  std::string label_;
  std::shared_ptr<const tune::Tuner> tuner_;
  std::uint64_t collectives_ = 0;
  std::atomic<std::uint64_t> issued_{0};
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<ncclResult_t> failure_{ncclSuccess};
  mutable std::mutex mutex_;  ///< Guards failure_text_ and the transition to stopped.
  std::string failure_text_;
  std::unique_ptr<Executor> executor_;  ///< Last: it uses the rest to its end.
};

}  // namespace ripieno::plan

// One rank's communicator: from its origin to its grave. comm/life.h says which call it takes in
// which state; a failure does not change the state, it is kept beside it, and later calls return
// it until the communicator is destroyed or aborted.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/cancellation.h"
#include "base/deadline.h"
#include "comm/config.h"
#include "comm/life.h"
#include "comm/operators.h"
#include "comm/origin.h"
#include "comm/registrations.h"
#include "connect/host_links.h"
#include "connect/meeting.h"
#include "observe/monitor.h"
#include "plan/sequencer.h"

namespace ripieno::comm {

/// Thread-safe: abort() may come from any thread at any moment.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(std::unique_ptr<Origin> origin, int device, Config config);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // ---- Life ----

  /// Joins the other ranks; blocks. Throws Error, and keeps it as the communicator's failure.
  void initialise();
  /// Makes initialise() end early.
  void cancel() noexcept { cancellation_.cancel(); }
  /// Runs `work` in a thread of its own. What it throws is kept as the failure.
  void run_in_background(const char* thread_name, std::function<void()> work);
  /// Waits until all operations have ended. Throws Error (ncclInvalidArgument) the second time.
  void finalize();
  /// The refusal comes at once, the waiting happens in the background.
  void finalize_in_background();
  /// Stops all operations for good, on this rank; those that need it on other ranks fail. Throws
  /// Error the second time.
  void revoke();
  /// The same, whether or not it has been revoked before.
  void stop_for_good();
  /// finalize() if that has not happened, then leaves; returns when nothing of it runs any more.
  void destroy();
  /// Stops everything this rank does and leaves, without waiting for any peer.
  void abort() noexcept;

  // ---- Questions ----

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] const Config& config() const noexcept { return config_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// Whether the ranks came together and this one was given no place.
  [[nodiscard]] bool is_nobody() const noexcept { return nobody_; }
  /// ncclInProgress while it is being made, busy or finalizing, else the failure, else ncclSuccess.
  [[nodiscard]] ncclResult_t async_error() const noexcept;
  /// Throws Error unless `call` is allowed now.
  void require(Call call) const;

  [[nodiscard]] const std::shared_ptr<plan::Sequencer>& sequencer() const noexcept {
    return sequencer_;
  }
  [[nodiscard]] Operators& operators() noexcept { return operators_; }
  [[nodiscard]] Registrations& registrations() noexcept { return registrations_; }
  [[nodiscard]] const Cancellation& cancellation() const noexcept { return cancellation_; }

 private:
  friend class Derivation;
  enum class Deriving : std::uint8_t { kNothing, kUnderWay, kFinishing };

  void connect();
  void watch_peers(const connect::HostLinks& links);
  void keep_failure(const Error& error) noexcept;
  [[nodiscard]] State state() const noexcept;
  [[nodiscard]] ncclResult_t failure() const noexcept;
  [[nodiscard]] std::string failure_text() const;
  /// The refusal of a second finalize, in the caller's thread; then the waiting, wherever.
  void begin_finalize();
  void end_finalize() noexcept;
  void join_background() noexcept;
  /// False when `limit` has passed first.
  bool wait_for_derivation(Deadline limit) const noexcept;
  [[nodiscard]] std::string label() const;

  std::unique_ptr<Origin> origin_;  ///< Until this communicator is made.
  int device_;
  Config config_;
  int rank_ = 0;
  int ranks_ = 0;
  std::uint64_t hash_ = 0;
  bool nobody_ = false;

  /// Never kBusy: that is kReady or kRevoked with a derivation under way.
  std::atomic<State> state_{State::kBeingMade};
  std::atomic<ncclResult_t> failure_{ncclSuccess};  ///< Of a job; operations fail in sequencer_.
  mutable std::mutex failure_mutex_;                ///< Guards failure_text_.
  std::string failure_text_;

  Cancellation cancellation_;
  std::shared_ptr<plan::Sequencer> sequencer_;
  std::vector<std::shared_ptr<device::PeerMemory>> peer_memory_;
  std::vector<std::unique_ptr<observe::Watch>> watches_;
  std::mutex background_mutex_;  ///< Guards background_.
  std::jthread background_;

  // Of the derivation under way, and of those before.
  std::atomic<Deriving> deriving_{Deriving::kNothing};
  std::unique_ptr<connect::MeetingPlace> meeting_place_;
  std::uint64_t derivations_ = 0;
  bool counts_from_revocation_ = false;
  std::uint64_t shrinks_ = 0;
  std::map<std::uint64_t, std::uint64_t> shrinks_by_company_;

  Operators operators_;
  Registrations registrations_;
};

}  // namespace ripieno::comm

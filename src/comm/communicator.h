// One rank's communicator: from its id to its grave. Its life, in states:
//
//     initialising --> ready --> finalizing --> finalized --> (destroyed)
//           |            |            |             |
//           +------------+---- abort, at any moment ---+----> (destroyed)
//
// A failure does not change the state: it is kept beside it, and every later call returns it until
// the communicator is destroyed or aborted.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/cancellation.h"
#include "base/reduce.h"
#include "bootstrap/bootstrap.h"
#include "comm/config.h"
#include "connect/host_links.h"
#include "observe/monitor.h"
#include "plan/sequencer.h"

namespace ripieno::comm {

/// What init needs to know.
struct InitRequest {
  std::vector<ncclUniqueId> ids;
  int ranks;
  int rank;
  int device;
  Config config;
};

/// A user's operator: each rank's input is multiplied by a factor before the sum.
struct PreMulSum {
  ncclDataType_t type;
  std::uint64_t scalar;
  const std::byte* device_scalar;  ///< Read when an operation runs; nullptr: `scalar` counts.
};

/// Thread-safe: abort() may come from any thread at any moment.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  explicit Communicator(InitRequest request);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // ---- Life ----

  /// Joins the other ranks; blocks. Throws Error, and keeps it as the communicator's failure.
  void initialise();
  /// Runs initialise() or finalize() in a thread of its own; the outcome is in async_error().
  void initialise_in_background();
  void finalize_in_background();
  /// Waits for such a thread to end.
  void join_background() noexcept;
  /// Waits until all operations have ended. Throws Error (ncclInvalidArgument) the second time.
  void finalize();
  /// finalize() if that has not happened, then leaves; returns when nothing of it runs any more.
  void destroy();
  /// Stops everything this rank does and leaves, without waiting for any peer.
  void abort() noexcept;

  // ---- Questions ----

  [[nodiscard]] int rank() const noexcept { return request_.rank; }
  [[nodiscard]] int ranks() const noexcept { return request_.ranks; }
  [[nodiscard]] int device() const noexcept { return request_.device; }
  [[nodiscard]] const Config& config() const noexcept { return request_.config; }
  /// ncclInProgress while a background job runs, else the failure, else ncclSuccess.
  [[nodiscard]] ncclResult_t async_error() const noexcept;
  /// Throws Error unless operations may be started: still initialising, failed, finalized.
  void require_ready() const;
  /// Throws Error unless getters may be asked: still initialising, failed.
  void require_initialised() const;

  [[nodiscard]] const std::shared_ptr<plan::Sequencer>& sequencer() const noexcept {
    return sequencer_;
  }

  // ---- Operators ----

  /// Throws Error (ncclInvalidUsage) when there are too many.
  [[nodiscard]] ncclRedOp_t add_operator(const PreMulSum& definition);
  /// Throws Error (ncclInvalidArgument) for a built-in operator, one of another communicator, or an
  /// unknown one.
  void remove_operator(ncclRedOp_t handle);
  [[nodiscard]] PreMulSum find_operator(ncclRedOp_t handle) const;

 private:
  enum class State : std::uint8_t { kInitialising, kReady, kFinalizing, kFinalized };

  void connect();
  void watch_peers(const connect::HostLinks& links);
  void fail_init(const Error& error);
  /// The refusal of a second finalize, in the caller's thread; then the waiting, wherever.
  void begin_finalize();
  void end_finalize() noexcept;
  [[nodiscard]] std::string label() const;
  [[nodiscard]] std::size_t operator_index(ncclRedOp_t handle) const;

  InitRequest request_;
  std::atomic<State> state_{State::kInitialising};
  std::atomic<bool> busy_{false};  ///< A background job runs.
  std::atomic<ncclResult_t> init_failure_{ncclSuccess};
  std::string init_failure_text_;  ///< Written before init_failure_.

  Cancellation cancellation_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  std::shared_ptr<plan::Sequencer> sequencer_;
  std::vector<std::shared_ptr<device::PeerMemory>> peer_memory_;
  std::vector<std::unique_ptr<observe::Watch>> watches_;
  std::mutex background_mutex_;  ///< Guards background_.
  std::jthread background_;

  mutable std::mutex operators_mutex_;
  std::vector<std::optional<PreMulSum>> operators_;
  int operator_key_ = 0;  ///< High bits of this communicator's operator handles.
};

}  // namespace ripieno::comm

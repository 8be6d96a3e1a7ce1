// Init, finalize, destroy and abort. See the header for the states.
#include "comm/communicator.h"

#include <algorithm>
#include <random>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#include "base/process.h"

namespace ripieno::comm {
namespace {

constexpr SecondsParameter kInitTimeout{"RIPIENO_INIT_TIMEOUT"};

/// How long finalize() sleeps at most before it looks again whether the communicator was stopped.
constexpr std::chrono::milliseconds kFinalizeRound{1000};

std::string device_text(const connect::PeerInfo& peer) {
  return fmt::format("rank on host {} process {} device {}", peer.host_name.data(), peer.process_id,
                     peer.device);
}

}  // namespace

Communicator::Communicator(InitRequest request) : request_(std::move(request)) {}

Communicator::~Communicator() {
  abort();
}

std::string Communicator::label() const {
  const std::string name =
      request_.config.comm_name.empty() ? "" : fmt::format(" '{}'", request_.config.comm_name);
  return fmt::format("communicator {:#x}{} rank {} of {}", bootstrap_->hash(), name, rank(),
                     ranks());
}

void Communicator::initialise() {
  try {
    connect();
    state_.store(State::kReady, std::memory_order_release);
  } catch (const Error& error) {
    fail_init(error);
    throw;
  } catch (const std::exception& error) {
    const Error wrapped(ncclSystemError, "communicator init failed: {}", error.what());
    fail_init(wrapped);
    throw Error(wrapped);
  }
}

void Communicator::connect() {
  const auto begin = std::chrono::steady_clock::now();
  bootstrap_ = bootstrap::join(request_.ids, {.rank = rank(), .ranks = ranks()},
                               kInitTimeout.value(), cancellation_);
  const auto joined = std::chrono::steady_clock::now();
  connect::HostLinks links =
      connect::connect_host(*bootstrap_, request_.device, kInitTimeout.value());
  operator_key_ = static_cast<int>(bootstrap_->hash() % 0x7ffe) + 1;
  sequencer_ = std::make_shared<plan::Sequencer>(std::move(links.team), label());
  watch_peers(links);
  const auto end = std::chrono::steady_clock::now();
  using Milliseconds = std::chrono::duration<double, std::milli>;
  log_info(log_subsystem::kInit,
           "{} device {} ({}) init COMPLETE in {:.2f} ms (bootstrap {:.2f}, connect {:.2f})",
           label(), request_.device, device_text(links.peers[static_cast<std::size_t>(rank())]),
           Milliseconds(end - begin).count(), Milliseconds(joined - begin).count(),
           Milliseconds(end - joined).count());
}

void Communicator::watch_peers(const connect::HostLinks& links) {
  for (const connect::PeerProcess& process : links.processes) {
    peer_memory_.push_back(process.memory);
    auto on_death = [sequencer = std::weak_ptr(sequencer_), ranks = process.ranks] {
      if (const auto alive = sequencer.lock()) {
        alive->peer_process_died(ranks);
      }
    };
    watches_.push_back(
        observe::watch_process(process.process_id, process.link, std::move(on_death)));
  }
}

void Communicator::fail_init(const Error& error) {
  init_failure_text_ = error.what();
  init_failure_.store(error.result(), std::memory_order_release);
}

void Communicator::initialise_in_background() {
  busy_.store(true, std::memory_order_release);
  const std::lock_guard lock(background_mutex_);
  background_ = start_thread("ripieno-init", [this] {
    try {
      initialise();
    } catch (const Error& error) {
      log_warn(log_subsystem::kInit, "{}", error.what());
    }
    busy_.store(false, std::memory_order_release);
  });
}

void Communicator::finalize_in_background() {
  begin_finalize();
  busy_.store(true, std::memory_order_release);
  const std::lock_guard lock(background_mutex_);
  background_ = start_thread("ripieno-final", [this] {
    end_finalize();
    busy_.store(false, std::memory_order_release);
  });
}

void Communicator::finalize() {
  begin_finalize();
  end_finalize();
}

void Communicator::begin_finalize() {
  State expected = State::kReady;
  if (!state_.compare_exchange_strong(expected, State::kFinalizing)) {
    throw Error(ncclInvalidArgument, "{}",
                expected == State::kInitialising
                    ? "the communicator is still initialising and cannot be finalized"
                    : "the communicator has already been finalized");
  }
}

void Communicator::end_finalize() noexcept {
  while (!sequencer_->wait_for_plans(kFinalizeRound) && !sequencer_->stopped()) {
  }
  state_.store(State::kFinalized, std::memory_order_release);
}

void Communicator::destroy() {
  join_background();
  if (state_.load(std::memory_order_acquire) == State::kReady) {
    finalize();
  }
  if (sequencer_) {
    sequencer_->leave();
  }
  watches_.clear();
  bootstrap_.reset();
}

void Communicator::abort() noexcept {
  cancellation_.cancel();
  // While init runs, its thread owns everything: it is cancelled and joined. A finalize in the
  // background waits for plans.
  if (state_.load(std::memory_order_acquire) != State::kInitialising) {
    sequencer_->abort();
  }
  join_background();
  if (sequencer_) {
    sequencer_->abort();
  }
  watches_.clear();
  bootstrap_.reset();
}

void Communicator::join_background() noexcept {
  const std::lock_guard lock(background_mutex_);
  if (background_.joinable()) {
    background_.join();
  }
}

ncclResult_t Communicator::async_error() const noexcept {
  if (busy_.load(std::memory_order_acquire)) {
    return ncclInProgress;
  }
  if (const ncclResult_t failure = init_failure_.load(std::memory_order_acquire);
      failure != ncclSuccess) {
    return failure;
  }
  return sequencer_ ? sequencer_->failure() : ncclSuccess;
}

void Communicator::require_initialised() const {
  const ncclResult_t error = async_error();
  if (error == ncclInProgress || (error == ncclSuccess && !sequencer_)) {
    throw Error(ncclInvalidArgument,
                "the communicator is still busy with an earlier call; poll ncclCommGetAsyncError() "
                "until it "
                "no longer says ncclInProgress");
  }
  if (error != ncclSuccess) {
    throw Error(
        error, "the communicator has failed: {}",
        init_failure_.load() != ncclSuccess ? init_failure_text_ : sequencer_->failure_text());
  }
}

void Communicator::require_ready() const {
  require_initialised();
  if (state_.load(std::memory_order_acquire) != State::kReady) {
    throw Error(ncclInvalidUsage,
                "the communicator has been finalized; no operation can be started on it");
  }
}

// ---- Operators ----
//
// A handle holds the communicator's key in its high half and, in the low half, an index past the
// built-in operators.

ncclRedOp_t Communicator::add_operator(const PreMulSum& definition) {
  const std::lock_guard lock(operators_mutex_);
  auto slot = std::find(operators_.begin(), operators_.end(), std::nullopt);
  const auto index = static_cast<std::size_t>(slot - operators_.begin());
  if (index + ncclNumOps > 0xffff) {
    throw Error(ncclInvalidUsage,
                "this communicator already has {} operators; destroy some with ncclRedOpDestroy()",
                operators_.size());
  }
  if (slot == operators_.end()) {
    operators_.emplace_back(definition);
  } else {
    *slot = definition;
  }
  return static_cast<ncclRedOp_t>((operator_key_ << 16) | static_cast<int>(index + ncclNumOps));
}

std::size_t Communicator::operator_index(ncclRedOp_t handle) const {
  const int value = static_cast<int>(handle);
  const int low = value & 0xffff;
  if (value >= 0 && value < ncclNumOps) {
    throw Error(ncclInvalidArgument, "operator {} is built in", value);
  }
  const auto index = static_cast<std::size_t>(low) - ncclNumOps;
  if ((value >> 16) != operator_key_ || low < ncclNumOps || index >= operators_.size() ||
      !operators_[index]) {
    throw Error(ncclInvalidArgument,
                "operator {:#x} is unknown here: it is neither one of 0 to {} nor one that this "
                "communicator "
                "created and has not destroyed",
                value, ncclNumOps - 1);
  }
  return index;
}

void Communicator::remove_operator(ncclRedOp_t handle) {
  const std::lock_guard lock(operators_mutex_);
  operators_[operator_index(handle)].reset();
}

PreMulSum Communicator::find_operator(ncclRedOp_t handle) const {
  const std::lock_guard lock(operators_mutex_);
  return *operators_[operator_index(handle)];
}

}  // namespace ripieno::comm

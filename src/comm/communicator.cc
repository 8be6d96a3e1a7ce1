// Being made, finalize, revoke, destroy and abort. See life.h for the states.
#include "comm/communicator.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#include "base/process.h"
#include "comm/landscape.h"
#include "connect/executor.h"

namespace ripieno::comm {
namespace {

constexpr SecondsParameter kInitTimeout{"RIPIENO_INIT_TIMEOUT"};

/// How long finalize() sleeps at most before it looks again whether the communicator was stopped.
constexpr std::chrono::milliseconds kFinalizeRound{1000};
/// How long abort() waits for a call that makes another communicator of this one.
constexpr std::chrono::milliseconds kAbortPatience{100};

std::string device_text(const connect::PeerInfo& peer) {
  return fmt::format("rank on host {} process {} device {}", peer.host_name.data(), peer.process_id,
                     peer.device);
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Origin> origin, int device, Config config)
    : origin_(std::move(origin)), device_(device), config_(std::move(config)) {}

Communicator::~Communicator() {
  abort();
}

std::string Communicator::label() const {
  const std::string name = config_.comm_name.empty() ? "" : fmt::format(" '{}'", config_.comm_name);
  return fmt::format("communicator {:#x}{} rank {} of {}", hash_, name, rank_, ranks_);
}

// ---- Being made ----

void Communicator::initialise() {
  try {
    connect();
    origin_->about_to_finish();
    state_.store(State::kReady, std::memory_order_release);
    origin_.reset();
  } catch (const Error& error) {
    keep_failure(error);
    origin_.reset();
    throw;
  } catch (const std::exception& error) {
    const Error wrapped(ncclSystemError, "making the communicator failed: {}", error.what());
    keep_failure(wrapped);
    origin_.reset();
    throw Error(wrapped);
  }
}

void Communicator::connect() {
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<bootstrap::Gathering> gathering = origin_->join(cancellation_);
  if (!gathering) {
    nobody_ = true;
    return;
  }
  rank_ = gathering->rank();
  ranks_ = gathering->ranks();
  hash_ = gathering->hash();
  const auto joined = std::chrono::steady_clock::now();
  Landscape landscape(config_);
  connect::HostLinks links =
      connect::connect_host(*gathering, device_, landscape.fingerprint(), kInitTimeout.value());
  operators_.belong_to(hash_);
  meeting_place_ = std::make_unique<connect::MeetingPlace>(links.team->shared_page(), rank_);
  sequencer_ = std::make_shared<plan::Sequencer>(std::move(links.team), label());
  sequencer_->set_tuner(landscape.arrive(rank_, hash_, links.peers));
  log_info(log_subsystem::kInit, "{} config: {}", label(), describe(config_));
  if (rank_ == 0) {
    meeting_place_->page().title_board(hash_, config_.comm_name);
  }
  connect::attach_executor(*gathering, links, *sequencer_, device_, kInitTimeout.value());
  watch_peers(links);
  const auto end = std::chrono::steady_clock::now();
  using Milliseconds = std::chrono::duration<double, std::milli>;
  log_info(log_subsystem::kInit,
           "{} device {} ({}) init COMPLETE in {:.2f} ms (bootstrap {:.2f}, connect {:.2f})",
           label(), device_, device_text(links.peers[static_cast<std::size_t>(rank_)]),
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

// ---- In the background ----

void Communicator::run_in_background(const char* thread_name, std::function<void()> work) {
  join_background();
  const std::lock_guard lock(background_mutex_);
  background_ = start_thread(thread_name, [this, work = std::move(work)] {
    try {
      work();
    } catch (const Error& error) {
      keep_failure(error);
      log_warn(log_subsystem::kInit, "{}", error.what());
    }
  });
}

void Communicator::join_background() noexcept {
  const std::lock_guard lock(background_mutex_);
  if (background_.joinable()) {
    background_.join();
  }
}

// ---- The end ----

void Communicator::finalize_in_background() {
  begin_finalize();
  run_in_background("ripieno-final", [this] { end_finalize(); });
}

void Communicator::finalize() {
  begin_finalize();
  end_finalize();
}

void Communicator::begin_finalize() {
  require(Call::kFinalize);
  State expected = State::kReady;
  if (!state_.compare_exchange_strong(expected, State::kFinalizing)) {
    const Verdict refusal = verdict(expected, Call::kFinalize);
    throw Error(refusal.result, "{}", refusal.sentence);
  }
}

void Communicator::end_finalize() noexcept {
  while (!sequencer_->wait_for_plans(kFinalizeRound) && !sequencer_->stopped()) {
  }
  state_.store(State::kFinalized, std::memory_order_release);
}

void Communicator::revoke() {
  require(Call::kRevoke);
  State expected = State::kReady;
  if (!state_.compare_exchange_strong(expected, State::kRevoked)) {
    const Verdict refusal = verdict(expected, Call::kRevoke);
    throw Error(refusal.result, "{}", refusal.sentence);
  }
  sequencer_->revoke();
}

void Communicator::stop_for_good() {
  State expected = State::kReady;
  if (state_.compare_exchange_strong(expected, State::kRevoked)) {
    sequencer_->revoke();
  }
}

void Communicator::destroy() {
  if (state_.load(std::memory_order_acquire) == State::kBeingMade) {
    abort();
    return;
  }
  join_background();
  wait_for_derivation(Deadline::never());
  State expected = State::kReady;
  if (sequencer_ && state_.compare_exchange_strong(expected, State::kFinalizing)) {
    end_finalize();
  }
  if (sequencer_) {
    sequencer_->leave();
  }
  watches_.clear();
}

void Communicator::abort() noexcept {
  cancellation_.cancel();
  // While it is being made, its thread owns everything: it is cancelled and joined. A finalize in
  // the background waits for plans, so they end before it is joined.
  const bool is_made = state_.load(std::memory_order_acquire) != State::kBeingMade;
  if (is_made && sequencer_) {
    sequencer_->abort();
  }
  join_background();
  if (!is_made && sequencer_) {
    sequencer_->abort();
  }
  // It looks at the cancellation.
  wait_for_derivation(Deadline::after(kAbortPatience));
  watches_.clear();
}

bool Communicator::wait_for_derivation(Deadline limit) const noexcept {
  while (deriving_.load(std::memory_order_acquire) != Deriving::kNothing) {
    if (limit.expired()) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// ---- What is the matter ----

State Communicator::state() const noexcept {
  const State state = state_.load(std::memory_order_acquire);
  const bool can_derive = state == State::kReady || state == State::kRevoked;
  const bool is_busy = deriving_.load(std::memory_order_acquire) != Deriving::kNothing;
  return can_derive && is_busy ? State::kBusy : state;
}

void Communicator::keep_failure(const Error& error) noexcept {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.load(std::memory_order_relaxed) == ncclSuccess) {
    failure_text_ = error.what();
    failure_.store(error.result(), std::memory_order_release);
  }
}

ncclResult_t Communicator::failure() const noexcept {
  if (const ncclResult_t failure = failure_.load(std::memory_order_acquire);
      failure != ncclSuccess) {
    return failure;
  }
  // While it is being made, the sequencer belongs to the thread that makes it.
  const bool is_made = state_.load(std::memory_order_acquire) != State::kBeingMade;
  return is_made && sequencer_ ? sequencer_->failure() : ncclSuccess;
}

std::string Communicator::failure_text() const {
  if (failure_.load(std::memory_order_acquire) == ncclSuccess) {
    return sequencer_->failure_text();
  }
  const std::lock_guard lock(failure_mutex_);
  return failure_text_;
}

ncclResult_t Communicator::async_error() const noexcept {
  const State now = state();
  const bool in_progress = now == State::kBeingMade
                               ? failure_.load(std::memory_order_acquire) == ncclSuccess
                               : now == State::kBusy || now == State::kFinalizing;
  return in_progress ? ncclInProgress : failure();
}

void Communicator::require(Call call) const {
  // Whoever makes something of it will be done in a moment.
  while (deriving_.load(std::memory_order_acquire) == Deriving::kFinishing) {
    std::this_thread::yield();
  }
  // A derivation that hangs can be revoked.
  const State now = call == Call::kRevoke ? state_.load(std::memory_order_acquire) : state();
  const State base = state_.load(std::memory_order_acquire);
  const bool leaves_failures_behind =
      base == State::kRevoked || (base != State::kBeingMade && is_for_failed(call));
  const ncclResult_t failed = failure();
  if (failed != ncclSuccess && !leaves_failures_behind) {
    throw Error(failed, "the communicator has failed: {}", failure_text());
  }
  const Verdict answer = verdict(now, call);
  if (answer.result != ncclSuccess) {
    throw Error(answer.result, "{}", answer.sentence);
  }
}

}  // namespace ripieno::comm

// Order, stopping and sleeping of one rank's plans.
#include "plan/sequencer.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/log.h"
#include "plan/executor.h"

namespace ripieno::plan {
namespace {

using transport::Presence;
using transport::RankLine;

/// How long abort() waits for a plan that is in the middle of moving data.
constexpr std::chrono::milliseconds kAbortPatience{800};

}  // namespace

Sequencer::Sequencer(std::unique_ptr<transport::HostTeam> team, std::string label)
    : team_(std::move(team)), label_(std::move(label)) {}

Sequencer::~Sequencer() = default;

void Sequencer::set_executor(std::unique_ptr<Executor> executor) noexcept {
  executor_ = std::move(executor);
}

void Sequencer::end_plan(bool begun) noexcept {
  if (begun) {
    team_->page().flight_line(rank()).finish();
    team_->stop_reaching();
  } else {
    begun_.fetch_add(1, std::memory_order_seq_cst);
  }
  ended_.fetch_add(1, std::memory_order_seq_cst);
  // A plan of another stream, or a thread in wait_for_plans(), may sleep until its turn comes.
  team_->page().ring(rank());
}

bool Sequencer::wait_for_plans(std::chrono::milliseconds timeout) const {
  const auto end = std::chrono::steady_clock::now() + timeout;
  const std::uint64_t issued = issued_.load(std::memory_order_seq_cst);
  auto pause = std::chrono::microseconds{1};
  while (ended_.load(std::memory_order_seq_cst) < issued) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds{1000});
  }
  return !executor_ || executor_->wait(timeout);
}

void Sequencer::fail(const Error& error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_.load(std::memory_order_relaxed)) {
      return;
    }
    failure_text_ = error.what();
    failure_.store(error.result(), std::memory_order_release);
    RankLine& line = team_->page().line(rank());
    line.fault_code = error.result();
    const std::size_t length = std::min(failure_text_.size(), line.fault.size() - 1);
    std::memcpy(line.fault.data(), failure_text_.data(), length);
    line.fault[length] = '\0';
    stop(Presence::kFailed);
  }
  set_last_error(error.what());
  log_warn(log_subsystem::kColl, "{}: {}", label_, error.what());
}

void Sequencer::peer_process_died(const std::vector<int>& ranks) noexcept {
  for (const int peer : ranks) {
    RankLine& line = team_->page().line(peer);
    // Whoever had given up its communicator before has not died of it.
    Presence seen = line.presence.load(std::memory_order_seq_cst);
    const auto was_in = [&] {
      return line.gone.load(std::memory_order_seq_cst) == 0 &&
             (seen == Presence::kJoined || seen == Presence::kFailed || seen == Presence::kRevoked);
    };
    while (was_in() && !line.presence.compare_exchange_weak(seen, Presence::kDied)) {
    }
    if (was_in() || seen == Presence::kDied) {
      team_->page().flight_line(peer).presence.store(static_cast<std::uint32_t>(Presence::kDied),
                                                     std::memory_order_relaxed);
      fail(death_of(peer));
    }
  }
}

Error Sequencer::death_of(int peer) const {
  const RankLine& line = team_->page().line(peer);
  if (line.fault_code != ncclSuccess) {
    return {static_cast<ncclResult_t>(line.fault_code),
            "rank {} reported: {} (and its process {} has ended since)", peer, line.fault.data(),
            line.process_id};
  }
  return {ncclRemoteError, "rank {} died: its process {} ended without leaving the communicator",
          peer, line.process_id};
}

void Sequencer::abort() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_.load(std::memory_order_relaxed)) {
      stop(Presence::kAborted);
    }
    give_up();
  }
  wait_for_running_plans();
}

void Sequencer::revoke() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stop(Presence::kRevoked);
  }
  wait_for_running_plans();
}

void Sequencer::leave() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_.load(std::memory_order_relaxed)) {
      stop(Presence::kLeft);
    }
    give_up();
  }
  if (failure() != ncclSuccess) {
    wait_for_running_plans();
  }
}

void Sequencer::give_up() noexcept {
  transport::ControlPage& page = team_->page();
  page.line(rank()).gone.store(1, std::memory_order_seq_cst);
  for (int peer = 0; peer < ranks(); ++peer) {
    page.ring(peer);
  }
}

void Sequencer::wait_for_running_plans() const noexcept {
  // A plan that has begun looks at the stop flag between any two waits, and a peer looks at this
  // rank's presence before it reaches into other ranks' buffers, so this is the time of one copy at
  // most.
  const auto end = std::chrono::steady_clock::now() + kAbortPatience;
  const auto runs = [&] {
    return begun_.load(std::memory_order_seq_cst) > ended_.load(std::memory_order_seq_cst);
  };
  while ((runs() || team_->peers_reach()) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
}

void Sequencer::stop(Presence presence) noexcept {
  transport::ControlPage& page = team_->page();
  page.line(rank()).presence.store(presence, std::memory_order_seq_cst);
  page.flight_line(rank()).presence.store(static_cast<std::uint32_t>(presence),
                                          std::memory_order_relaxed);
  stopped_.store(true, std::memory_order_release);
  for (int peer = 0; peer < ranks(); ++peer) {
    page.ring_always(peer);
  }
  if (executor_ && presence != Presence::kLeft) {
    executor_->release();
  }
}

std::string Sequencer::failure_text() const {
  const std::lock_guard lock(mutex_);
  return failure_text_;
}

void Sequencer::check_peers(const Waiting* waiting) const {
  for (int peer = 0; peer < team_->ranks(); ++peer) {
    if (peer == team_->rank()) {
      continue;
    }
    const RankLine& line = team_->page().line(peer);
    switch (line.presence.load(std::memory_order_seq_cst)) {
      case Presence::kFailed:
        throw Error(static_cast<ncclResult_t>(line.fault_code), "rank {} reported: {}", peer,
                    line.fault.data());
      case Presence::kDied:
        throw Error(death_of(peer));
      case Presence::kAborted:
        throw Error(ncclRemoteError, "rank {} aborted its communicator", peer);
      case Presence::kRevoked:
        // Who waits for it does so in vain; who does not learns when it will.
        if (waiting != nullptr && waiting->waits_for(peer)) {
          throw Error(ncclRemoteError, "rank {} revoked the communicator", peer);
        }
        break;
      case Presence::kLeft:
        // Looked at after its presence: what it published before it left still counts.
        if (waiting != nullptr && waiting->waits_for(peer)) {
          throw Error(ncclRemoteError,
                      "rank {} destroyed its communicator without taking part in this operation",
                      peer);
        }
        break;
      case Presence::kAbsent:
      case Presence::kJoined:
        break;
    }
  }
}

}  // namespace ripieno::plan

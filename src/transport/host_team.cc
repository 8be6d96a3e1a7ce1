// Phases and messages over the control page.
#include "transport/host_team.h"

#include <algorithm>

#include "base/error.h"

namespace ripieno::transport {

HostTeam::HostTeam(std::shared_ptr<ControlPage> page, int rank, std::vector<HostPeer> peers)
    : page_(std::move(page)),
      rank_(rank),
      peers_(std::move(peers)),
      one_process_(std::all_of(peers_.begin(), peers_.end(),
                               [](const HostPeer& peer) { return peer.same_process; })),
      sent_(peers_.size()),
      received_(peers_.size()),
      inputs_(peers_.size()),
      outputs_(peers_.size()) {}

BufferRef HostTeam::refer_to(const void* pointer) const noexcept {
  if (pointer == nullptr) {
    return {0, BufferRef::Kind::kNone};
  }
  if (const auto offset = device::backend().share_offset(pointer)) {
    return {*offset, BufferRef::Kind::kArena};
  }
  return {reinterpret_cast<std::uintptr_t>(pointer), BufferRef::Kind::kPrivate};
}

std::byte* HostTeam::resolve(int peer, BufferRef::Kind kind, std::uint64_t value,
                             std::size_t bytes) const {
  if (kind == BufferRef::Kind::kPrivate) {
    return reinterpret_cast<std::byte*>(value);  // NOLINT(performance-no-int-to-ptr): same process
  }
  const auto memory = peers_[static_cast<std::size_t>(peer)].memory->bytes();
  if (value > memory.size() || bytes > memory.size() - value) {
    throw Error(
        ncclInternalError,
        "rank {} announced a buffer of {} bytes at offset {} outside its shared memory of {} bytes",
        peer, bytes, value, memory.size());
  }
  return memory.data() + value;
}

bool HostTeam::PhaseWait::ready() noexcept {
  const int ranks = team_.ranks();
  while (next_ < ranks) {
    if (team_.slot(next_, phase_).phase.load(std::memory_order_seq_cst) < phase_) {
      return false;
    }
    ++next_;
  }
  return true;
}

bool HostTeam::PhaseWait::waits_for(int rank) const noexcept {
  return team_.slot(rank, phase_).phase.load(std::memory_order_seq_cst) < phase_;
}

std::uint64_t HostTeam::enter() noexcept {
  const std::uint64_t phase = ++phase_;
  slot(rank_, phase).phase.store(phase, std::memory_order_seq_cst);

  const int ranks = page_->ranks();
  bool sleepers = false;
  for (int peer = 0; peer < ranks; ++peer) {
    sleepers |= page_->line(peer).sleepers.load(std::memory_order_seq_cst) != 0;
  }
  // Only the last to arrive has news for those who sleep. If two arrive at once, at least one sees
  // that all are there.
  if (sleepers && everyone_in(phase).ready()) {
    for (int peer = 0; peer < ranks; ++peer) {
      page_->ring(peer);
    }
  }
  return phase;
}

bool HostTeam::ReachWait::ready() noexcept {
  team_.page().line(team_.rank()).reaching.store(1, std::memory_order_seq_cst);
  for (int rank = 0; rank < team_.ranks(); ++rank) {
    if (waits_for(rank)) {
      team_.stop_reaching();
      return false;
    }
  }
  return true;
}

bool HostTeam::ReachWait::waits_for(int rank) const noexcept {
  const bool concerned = rank != team_.rank() && (peer_ == kEveryone || rank == peer_);
  return concerned &&
         team_.page().line(rank).presence.load(std::memory_order_seq_cst) != Presence::kJoined;
}

bool HostTeam::peers_reach() const noexcept {
  for (int rank = 0; rank < ranks(); ++rank) {
    const RankLine& line = page_->line(rank);
    if (rank != rank_ && line.reaching.load(std::memory_order_seq_cst) != 0 &&
        line.presence.load(std::memory_order_seq_cst) != Presence::kDied) {
      return true;
    }
  }
  return false;
}

void HostTeam::post(int peer, std::uint64_t number) noexcept {
  outgoing(peer, number).number.store(number, std::memory_order_seq_cst);
  page_->ring(peer);
}

void HostTeam::take(int peer, std::uint64_t number) noexcept {
  page_->mailbox(peer, rank_).taken.store(number, std::memory_order_seq_cst);
  page_->ring(peer);
}

}  // namespace ripieno::transport

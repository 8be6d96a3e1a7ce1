// One rank's view of a team whose members all reach the same host memory: the control page, and
// every peer's device memory. It offers the two things that algorithms on shared memory are made
// of: phases (barriers that carry an announcement) and pieces of messages between two ranks.
//
// Used by one thread at a time: the thread that executes the rank's current plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/schedule.h"
#include "device/device.h"
#include "transport/control_page.h"

namespace ripieno::transport {

/// How this rank reaches a peer's memory.
struct HostPeer {
  bool same_process = false;
  /// Keeps the mapping; its bytes are the peer's whole device memory.
  std::shared_ptr<device::PeerMemory> memory;
};

class HostTeam {
 public:
  HostTeam(std::shared_ptr<ControlPage> page, int rank, std::vector<HostPeer> peers);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return page_->ranks(); }
  [[nodiscard]] ControlPage& page() const noexcept { return *page_; }
  /// For those who may outlive the team.
  [[nodiscard]] const std::shared_ptr<ControlPage>& shared_page() const noexcept { return page_; }

  // ---- Memory ----

  [[nodiscard]] BufferRef refer_to(const void* pointer) const noexcept;
  /// Whether `peer` can reach a buffer of this rank. Every rank decides the same for the same
  /// announcement.
  [[nodiscard]] bool reachable(int peer, BufferRef::Kind kind) const noexcept {
    return kind != BufferRef::Kind::kPrivate || peers_[static_cast<std::size_t>(peer)].same_process;
  }
  [[nodiscard]] bool one_process() const noexcept { return one_process_; }
  /// Address here of `bytes` bytes of a peer's buffer. Throws Error (ncclInternalError) when they
  /// do not lie in its memory.
  [[nodiscard]] std::byte* resolve(int peer, BufferRef::Kind kind, std::uint64_t value,
                                   std::size_t bytes) const;

  // ---- Phases ----

  /// Waits until every member has entered `phase`.
  class PhaseWait final : public Waiting {
   public:
    PhaseWait(const HostTeam& team, std::uint64_t phase) noexcept : team_(team), phase_(phase) {}
    [[nodiscard]] bool ready() noexcept override;
    [[nodiscard]] bool waits_for(int rank) const noexcept override;

   private:
    const HostTeam& team_;
    std::uint64_t phase_;
    int next_ = 0;  ///< Ranks before it are known to have arrived.
  };

  /// The phase that the next enter() will enter; its slot and staging areas may be filled now.
  [[nodiscard]] std::uint64_t next_phase() const noexcept { return phase_ + 1; }
  [[nodiscard]] ArrivalSlot& slot(int rank, std::uint64_t phase) const noexcept {
    return page_->slot(rank, phase);
  }
  /// Enters the next phase: publishes what this rank wrote for it, wakes peers if it is the last.
  /// Returns the phase.
  std::uint64_t enter() noexcept;
  [[nodiscard]] PhaseWait everyone_in(std::uint64_t phase) const noexcept { return {*this, phase}; }

  // ---- In other ranks' buffers ----

  /// Waits until this rank may touch buffers of `peer` (kEveryone: of all), and says that it does.
  /// A rank that stops says so first and then looks who still reaches, so that its buffers are its
  /// own again after that (Sequencer::abort). Never ready once such a peer has stopped: then the
  /// operation cannot end.
  class ReachWait final : public Waiting {
   public:
    ReachWait(const HostTeam& team, int peer) noexcept : team_(team), peer_(peer) {}
    [[nodiscard]] bool ready() noexcept override;
    [[nodiscard]] bool waits_for(int rank) const noexcept override;

   private:
    const HostTeam& team_;
    int peer_;
  };
  static constexpr int kEveryone = -1;

  /// Held while peers' buffers are touched, after a ReachWait.
  class Reach {
   public:
    explicit Reach(const HostTeam& team) noexcept : team_(team) {}
    Reach(const Reach&) = delete;
    Reach& operator=(const Reach&) = delete;
    ~Reach() { team_.stop_reaching(); }

   private:
    const HostTeam& team_;
  };

  [[nodiscard]] ReachWait may_reach(int peer) const noexcept { return {*this, peer}; }
  /// For an operation that ends between its ReachWait and its Reach, too.
  void stop_reaching() const noexcept {
    std::atomic<std::uint32_t>& reaching = page_->line(rank_).reaching;
    if (reaching.load(std::memory_order_relaxed) != 0) {
      reaching.store(0, std::memory_order_release);
    }
  }
  /// Whether any peer that lives is in the middle of other ranks' buffers.
  [[nodiscard]] bool peers_reach() const noexcept;

  // ---- Messages ----

  /// Waits until piece `number` from `from` to `to` has been posted, or taken.
  class PieceWait final : public Waiting {
   public:
    PieceWait(const std::atomic<std::uint64_t>& word, std::uint64_t number, int peer) noexcept
        : word_(word), number_(number), peer_(peer) {}
    [[nodiscard]] bool ready() noexcept override {
      return word_.load(std::memory_order_seq_cst) >= number_;
    }
    [[nodiscard]] bool waits_for(int rank) const noexcept override { return rank == peer_; }

   private:
    const std::atomic<std::uint64_t>& word_;
    std::uint64_t number_;
    int peer_;
  };

  /// Number of the next piece to `peer`; counts it.
  [[nodiscard]] std::uint64_t next_sent(int peer) noexcept {
    return ++sent_[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] std::uint64_t next_received(int peer) noexcept {
    return ++received_[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] MessageSlot& outgoing(int peer, std::uint64_t number) const noexcept {
    return page_->mailbox(rank_, peer).slots[number & 1];
  }
  [[nodiscard]] MessageSlot& incoming(int peer, std::uint64_t number) const noexcept {
    return page_->mailbox(peer, rank_).slots[number & 1];
  }
  [[nodiscard]] PieceWait posted(int peer, std::uint64_t number) const noexcept {
    return {incoming(peer, number).number, number, peer};
  }
  /// `number` may be negative or zero: then there is nothing to wait for.
  [[nodiscard]] PieceWait taken(int peer, std::int64_t number) const noexcept {
    return {page_->mailbox(rank_, peer).taken, number > 0 ? static_cast<std::uint64_t>(number) : 0,
            peer};
  }
  void post(int peer, std::uint64_t number) noexcept;
  void take(int peer, std::uint64_t number) noexcept;

  /// Room for one pointer per rank, for the running algorithm.
  [[nodiscard]] std::span<const std::byte*> input_room() noexcept { return inputs_; }
  [[nodiscard]] std::span<std::byte*> output_room() noexcept { return outputs_; }

 private:
  std::shared_ptr<ControlPage> page_;
  int rank_;
  std::vector<HostPeer> peers_;
  bool one_process_;
  std::uint64_t phase_ = 0;
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> received_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
};

}  // namespace ripieno::transport

// A rank in the tree: its links to parent and children, its listener for direct connections, and
// the messages that have arrived. It has no thread: whatever call waits, moves everything on
// meanwhile.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/deadline.h"
#include "base/error.h"
#include "bootstrap/acceptor.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/messages.h"
#include "bootstrap/sockets.h"
#include "bootstrap/tree.h"

namespace ripieno::bootstrap {

/// Keys and limit of the connections between ranks.
[[nodiscard]] inline Key tree_key(const Key& base) {
  return derive(base, "tree");
}
[[nodiscard]] inline Key direct_key(const Key& base) {
  return derive(base, "direct");
}
inline constexpr std::size_t kMemberFrameLimit = std::size_t{256} << 20;

class Member final : public Bootstrap {
 public:
  struct Start {
    int rank;
    Tree tree;
    Key base;  ///< What the ids stand for; all ranks have the same.
    std::chrono::milliseconds timeout;
    Listener listener;
    const Cancellation& cancellation;
  };
  explicit Member(Start start);
  ~Member() override;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// A rendezvous that this rank has met at: it watches over the ranks until they are connected.
  void watch_rendezvous(std::unique_ptr<Channel> channel);
  /// The link to the parent, made by who joins.
  void set_parent(std::unique_ptr<Channel> channel);
  /// Waits for the children and introduces all ranks to each other.
  void assemble(Deadline deadline);
  /// Tells the neighbours that there are now, and throws.
  [[noreturn]] void fail(ncclResult_t result, std::string sentence);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int ranks() const noexcept override { return tree_.ranks(); }
  [[nodiscard]] std::uint64_t hash() const noexcept override { return hash_; }
  [[nodiscard]] std::array<std::byte, 32> secret() const noexcept override { return secret_; }
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override;
  void barrier() override;
  void send(int peer, std::uint64_t tag, std::span<const std::byte> message) override;
  [[nodiscard]] std::vector<std::byte> receive(int peer, std::uint64_t tag) override;

 private:
  /// A rank one step up or down the tree.
  struct Neighbour {
    int rank;
    std::unique_ptr<Channel> channel{};  ///< Empty before it has connected and after it has left.
    std::deque<Frame> frames{};          ///< Of exchanges, not yet taken.
    bool left = false;
  };
  /// Contributions as they come in.
  struct Exchange {
    std::uint64_t sequence;
    std::size_t size;
    std::vector<std::byte> bytes;
    std::vector<bool> present;
  };
  using Condition = std::function<bool()>;

  std::vector<std::byte> gather(std::span<const std::byte> mine, Deadline deadline);
  void collect_from_children(Exchange& exchange, Deadline deadline);
  void ask_parent(Exchange& exchange, Deadline deadline);
  void pass_down(const Exchange& exchange, Deadline deadline);
  void take(Exchange& exchange, const Frame& frame, int from, const std::vector<bool>& expected);
  std::optional<Frame> next_of(Channel& channel, int source);
  [[nodiscard]] std::vector<std::byte> encoded(const Exchange& exchange) const;
  void introduce(Deadline deadline);

  bool wait_until(const Condition& condition, Deadline deadline);
  void move_on(Deadline deadline);
  void advance_all();
  void greet(Guest guest);
  void hear(Neighbour& neighbour);
  void hear_rendezvous(Channel& channel);
  enum class Directly { kOpen, kLeft, kDied };
  Directly hear_direct(int peer, Channel& channel);
  Channel& direct_channel(int peer, Deadline deadline);

  /// The same for news that came from `source`, which needs not hear it again.
  [[noreturn]] void fail_from(int source, const Failure& failure);
  [[noreturn]] void throw_death(int rank);
  void check_still_here(const Neighbour& neighbour);
  void check_usable() const;
  void check_peer(int peer) const;
  [[nodiscard]] std::vector<int> missing_children(bool frames) const;
  [[nodiscard]] std::chrono::milliseconds grace_for(const std::vector<int>& ranks) const;
  template <typename Visit>
  void for_each_neighbour(Visit visit);

  int rank_;
  Tree tree_;
  Key base_;
  std::chrono::milliseconds timeout_;
  const Cancellation& cancellation_;
  Address listener_address_;
  Nonce direct_nonce_;
  Acceptor acceptor_;
  std::vector<std::unique_ptr<Channel>> rendezvous_;  ///< Until all ranks are connected.
  std::optional<Neighbour> parent_;
  std::vector<Neighbour> children_;
  std::vector<Introduction> introductions_;
  std::map<int, std::unique_ptr<Channel>> direct_out_;
  std::map<int, std::unique_ptr<Channel>> direct_in_;
  std::map<std::pair<int, std::uint64_t>, std::deque<std::vector<std::byte>>> mailbox_;
  std::vector<bool> departed_;
  std::optional<Failure> failure_;
  std::uint64_t next_sequence_ = 0;
  Key secret_{};
  std::uint64_t hash_ = 0;
};

}  // namespace ripieno::bootstrap

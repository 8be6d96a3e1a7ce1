// The server's side: a listener that lets in only those who prove that they know the key. Until
// they have, all a stranger can cost is one of a bounded number of waiting places for a bounded
// time. It never blocks; its owner polls the descriptors it names and calls advance().
#pragma once

#include <poll.h>

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "bootstrap/channel.h"
#include "bootstrap/handshake.h"

namespace ripieno::bootstrap {

struct Guest {
  Purpose purpose;
  int from;
  std::unique_ptr<Channel> channel;
};

class Acceptor {
 public:
  /// What a purpose is good for here.
  struct Offer {
    Purpose purpose;
    Key key;
    std::size_t frame_limit;
  };
  /// `direct_nonce` is the server's part of kDirect handshakes, told to members beforehand.
  Acceptor(UniqueFd listener, std::vector<Offer> offers, const Nonce& direct_nonce);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Adds the descriptors to wait for.
  void watch(std::vector<pollfd>& watched) const;
  /// When advance() is due even if no descriptor stirs.
  [[nodiscard]] Deadline due() const noexcept;
  /// Moves every handshake on; those who have proved themselves come back. Throws Error
  /// (ncclSystemError) when the process has no descriptor left.
  std::vector<Guest> advance();

  /// Connections dropped because they did not prove anything in time or said something else.
  [[nodiscard]] int strangers() const noexcept { return strangers_; }
  /// Takes no more connections; also where a forked child still holds the socket.
  void close() noexcept;

 private:
  struct Caller {
    UniqueFd socket;
    Deadline::Clock::time_point arrived;
    Deadline limit;
    std::vector<std::byte> received{};
    std::optional<Handshake> handshake{};
    Hello hello{};
  };
  enum class Progress { kWaits, kStranger, kProved };

  void accept_callers();
  bool make_room();
  Progress move(Caller& caller);
  bool fill(Caller& caller, std::size_t wanted) const;
  Progress read_hello(Caller& caller);
  Progress read_proof(Caller& caller);
  [[nodiscard]] const Offer* offer_for(Purpose purpose) const noexcept;

  UniqueFd listener_;
  std::vector<Offer> offers_;
  Nonce direct_nonce_;
  std::deque<Caller> callers_;  ///< Oldest first.
  int strangers_ = 0;
};

}  // namespace ripieno::bootstrap

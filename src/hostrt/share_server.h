// The share server of this process: one thread that hands published file descriptors to processes
// that prove they know a descriptor's secret, over an abstract Unix socket that vanishes with the
// process. A stranger costs a socket for at most two seconds and never holds up anybody else.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "hostrt/owned_fd.h"
#include "hostrt/runtime.h"
#include "hostrt/share_protocol.h"

namespace ripieno::hostrt {

class ShareServer {
 public:
  static constexpr std::chrono::seconds kHandshakeLimit{2};
  static constexpr std::size_t kMostHalfOpen = 64;

  /// Started on first use. Throws RuntimeError.
  static ShareServer& instance();

  FdTicket publish(int fd, std::uint64_t bytes);
  void withdraw(const FdTicket& ticket) noexcept;

  /// The abstract name, which carries `token` in hexadecimal.
  [[nodiscard]] static std::string name_of(std::uint64_t token);
  [[nodiscard]] std::uint64_t token() const noexcept { return token_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Published {
    int fd;
    std::uint64_t bytes;
    share::Secret secret;
  };
  enum class Stage : std::uint8_t { kAwaitHello, kAwaitAnswer, kOpen };
  struct Connection {
    OwnedFd socket;
    Stage stage = Stage::kAwaitHello;
    Clock::time_point deadline;
    std::uint64_t id = 0;
    share::Proof expected{};
  };

  ShareServer();
  void serve() noexcept;
  void accept_all();
  void drop_overdue();
  [[nodiscard]] int milliseconds_to_next_deadline();
  [[nodiscard]] bool advance(Connection& connection);
  [[nodiscard]] bool greet(Connection& connection, const share::Hello& hello);
  [[nodiscard]] bool grant(Connection& connection, const share::Answer& answer);
  void drop_oldest_half_open();

  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;

  std::uint64_t token_ = 0;
  OwnedFd listener_;
  OwnedFd epoll_;

  std::mutex mutex_;  // guards all below; held around changes only, never around a wait
  std::map<std::uint64_t, Published> published_;
  std::uint64_t next_id_ = 1;
  std::map<int, Connection> connections_;
};

}  // namespace ripieno::hostrt

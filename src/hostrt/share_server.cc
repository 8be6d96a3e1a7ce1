// The server's loop and the handshake's server side; see share_server.h.
#include "hostrt/share_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "hostrt/arena.h"
#include "hostrt/process.h"

namespace ripieno::hostrt {
namespace {

constinit ShareServer* g_started_server = nullptr;

[[noreturn]] void fail(const char* what) {
  throw RuntimeError(cudaErrorOperatingSystem, std::string("the share server cannot start: ") +
                                                   what + ": " + std::strerror(errno));
}

}  // namespace

ShareServer& ShareServer::instance() {
  check_process();
  // Never destroyed: its thread serves until the process is gone.
  static ShareServer* const server = new ShareServer;
  return *server;
}

std::string ShareServer::name_of(std::uint64_t token) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "ripieno-%016llx",
                static_cast<unsigned long long>(token));
  return text.data();
}

ShareServer::ShareServer() {
  mark_started();
  share::prepare_cryptography();
  share::fill_random(std::as_writable_bytes(std::span<std::uint64_t, 1>(&token_, 1)));
  listener_ = OwnedFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  epoll_ = OwnedFd(epoll_create1(EPOLL_CLOEXEC));
  if (!listener_ || !epoll_) fail("socket");
  const share::Address address(name_of(token_));
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(address.storage.data()),
           address.bytes) != 0) {
    fail("bind");
  }
  if (listen(listener_.get(), SOMAXCONN) != 0) fail("listen");
  epoll_event event{.events = EPOLLIN, .data = {.fd = listener_.get()}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0) fail("epoll_ctl");
  try {
    start_thread("ripieno-share", [this] { serve(); }).detach();
  } catch (const std::system_error& error) {
    throw RuntimeError(cudaErrorOperatingSystem,
                       std::string("the share server cannot start: ") + error.what());
  }
  g_started_server = this;
  set_fork_hooks({&before_fork, &after_fork_in_parent, &after_fork_in_child});
}

FdTicket ShareServer::publish(int fd, std::uint64_t bytes) {
  FdTicket ticket{};
  const std::string name = name_of(token_);
  std::copy(name.begin(), name.end(), ticket.socket_name.begin());
  share::fill_random(ticket.secret);
  ticket.bytes = bytes;
  const std::lock_guard guard(mutex_);
  ticket.id = next_id_++;
  published_.emplace(ticket.id, Published{fd, bytes, ticket.secret});
  return ticket;
}

void ShareServer::withdraw(const FdTicket& ticket) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = published_.find(ticket.id);
  if (found != published_.end() && found->second.secret == ticket.secret) published_.erase(found);
}

// ---- The thread ----

void ShareServer::serve() noexcept {
  std::array<epoll_event, 32> events;
  while (true) {
    const int ready = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 milliseconds_to_next_deadline());
    for (int index = 0; index < std::max(ready, 0); ++index) {
      const int fd = events[static_cast<std::size_t>(index)].data.fd;
      if (fd == listener_.get()) {
        accept_all();
        continue;
      }
      const std::lock_guard guard(mutex_);
      const auto found = connections_.find(fd);
      if (found != connections_.end() && !advance(found->second)) connections_.erase(found);
    }
    drop_overdue();
  }
}

void ShareServer::accept_all() {
  while (true) {
    OwnedFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const std::lock_guard guard(mutex_);
    if (!client) {
      // Out of descriptors: free one that a silent stranger may hold, or the listener would stay
      // readable for ever.
      if (errno == EMFILE || errno == ENFILE) drop_oldest_half_open();
      return;
    }
    const auto half_open =
        std::count_if(connections_.begin(), connections_.end(),
                      [](const auto& entry) { return entry.second.stage != Stage::kOpen; });
    if (static_cast<std::size_t>(half_open) >= kMostHalfOpen) drop_oldest_half_open();
    const int fd = client.get();
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.fd = fd}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) continue;
    Connection connection;
    connection.socket = std::move(client);
    connection.deadline = Clock::now() + kHandshakeLimit;
    connections_.insert_or_assign(fd, std::move(connection));
  }
}

void ShareServer::drop_oldest_half_open() {
  auto oldest = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (it->second.stage == Stage::kOpen) continue;
    if (oldest == connections_.end() || it->second.deadline < oldest->second.deadline) oldest = it;
  }
  if (oldest != connections_.end()) connections_.erase(oldest);
}

void ShareServer::drop_overdue() {
  const Clock::time_point now = Clock::now();
  const std::lock_guard guard(mutex_);
  std::erase_if(connections_, [now](const auto& entry) {
    return entry.second.stage != Stage::kOpen && entry.second.deadline <= now;
  });
}

int ShareServer::milliseconds_to_next_deadline() {
  const std::lock_guard guard(mutex_);
  auto next = Clock::time_point::max();
  for (const auto& [fd, connection] : connections_) {
    if (connection.stage != Stage::kOpen) next = std::min(next, connection.deadline);
  }
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

/// Takes the next packet of a connection; false if the connection is to be dropped.
bool ShareServer::advance(Connection& connection) {
  alignas(8) std::array<std::byte, sizeof(share::Hello)> packet;
  const ssize_t received =
      recv(connection.socket.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (received < 0) return errno == EAGAIN || errno == EINTR;
  if (connection.stage == Stage::kAwaitHello && received == sizeof(share::Hello)) {
    share::Hello hello;
    std::memcpy(&hello, packet.data(), sizeof hello);
    return greet(connection, hello);
  }
  if (connection.stage == Stage::kAwaitAnswer && received == sizeof(share::Answer)) {
    share::Answer answer;
    std::memcpy(&answer, packet.data(), sizeof answer);
    return grant(connection, answer);
  }
  return false;  // hung up, or it does not speak the protocol
}

bool ShareServer::greet(Connection& connection, const share::Hello& hello) {
  const auto found = published_.find(hello.id);
  if (hello.magic != share::kMagic || found == published_.end()) return false;
  const share::Secret& secret = found->second.secret;
  share::Challenge challenge;
  share::fill_random(challenge.nonce);
  challenge.proof =
      share::prove(secret, share::Role::kServer, hello.id, hello.nonce, challenge.nonce);
  connection.id = hello.id;
  connection.expected =
      share::prove(secret, share::Role::kClient, hello.id, hello.nonce, challenge.nonce);
  connection.stage = Stage::kAwaitAnswer;
  return share::send_message(connection.socket.get(), challenge);
}

bool ShareServer::grant(Connection& connection, const share::Answer& answer) {
  const auto found = published_.find(connection.id);
  if (found == published_.end() || !share::equal(answer.proof, connection.expected)) return false;
  connection.stage = Stage::kOpen;
  const share::Grant grant{.magic = share::kMagic, .reserved = 0, .bytes = found->second.bytes};
  return share::send_message(connection.socket.get(), grant, found->second.fd);
}

// ---- Forks ----

// A child must not keep the server's sockets open, or clients would not see the parent's death. The
// lock makes the table of connections whole at the moment of the fork.
void ShareServer::before_fork() noexcept {
  g_started_server->mutex_.lock();
}
void ShareServer::after_fork_in_parent() noexcept {
  g_started_server->mutex_.unlock();
}
void ShareServer::after_fork_in_child() noexcept {
  ShareServer& server = *g_started_server;
  for (auto& [fd, connection] : server.connections_) close(connection.socket.take());
  if (server.listener_) close(server.listener_.take());
  if (server.epoll_) close(server.epoll_.take());
  server.mutex_.unlock();
}

// ---- The C++ face ----

FdTicket publish_fd(int fd, std::uint64_t bytes) {
  return ShareServer::instance().publish(fd, bytes);
}

void withdraw_fd(const FdTicket& ticket) noexcept {
  if (forked()) return;
  try {
    ShareServer::instance().withdraw(ticket);
  } catch (const RuntimeError&) {
    return;  // a server that never started has published nothing
  }
}

FdTicket arena_ticket() {
  check_process();
  static const FdTicket ticket = [] {
    const Arena& arena = Arena::instance();
    return publish_fd(arena.fd(), arena.size());
  }();
  return ticket;
}

}  // namespace ripieno::hostrt

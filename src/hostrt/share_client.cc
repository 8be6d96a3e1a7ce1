// Fetching a descriptor from another process's share server: connect, make it prove itself, prove
// ourselves, receive.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "hostrt/owned_fd.h"
#include "hostrt/runtime.h"
#include "hostrt/share_protocol.h"

namespace ripieno::hostrt {
namespace {

using Clock = std::chrono::steady_clock;

class Fetch {
 public:
  Fetch(const FdTicket& ticket, std::chrono::milliseconds timeout)
      : ticket_(ticket),
        name_(ticket.socket_name.data(),
              strnlen(ticket.socket_name.data(), ticket.socket_name.size())),
        deadline_(Clock::now() + timeout) {}

  FetchedFd run() {
    share::prepare_cryptography();
    connect_to_owner();
    share::Hello hello{.magic = share::kMagic, .reserved = 0, .id = ticket_.id, .nonce = {}};
    share::fill_random(hello.nonce);
    send(hello);
    const auto challenge = receive<share::Challenge>(nullptr);
    if (!share::equal(challenge.proof, share::prove(ticket_.secret, share::Role::kServer,
                                                    ticket_.id, hello.nonce, challenge.nonce))) {
      fail(cudaErrorInvalidResourceHandle, "does not know the secret, so it is not the owner");
    }
    send(share::Answer{share::prove(ticket_.secret, share::Role::kClient, ticket_.id, hello.nonce,
                                    challenge.nonce)});
    OwnedFd fd;
    const auto grant = receive<share::Grant>(&fd);
    if (grant.magic != share::kMagic || grant.bytes != ticket_.bytes || !fd) {
      fail(cudaErrorInvalidResourceHandle, "granted something else than the ticket speaks of");
    }
    const int owner_pid = peer_pid();
    return {fd.take(), socket_.take(), owner_pid};
  }

 private:
  [[noreturn]] void fail(cudaError_t code, const std::string& what) const {
    throw RuntimeError(
        code, "fetching a shared descriptor: the process behind socket @" + name_ + " " + what);
  }

  void connect_to_owner() {
    socket_ = OwnedFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_)
      fail(cudaErrorOperatingSystem,
           std::string("is out of reach: socket: ") + std::strerror(errno));
    const share::Address address(name_);
    while (connect(socket_.get(), reinterpret_cast<const sockaddr*>(address.storage.data()),
                   address.bytes) != 0) {
      if (errno == EINTR) continue;
      // EAGAIN: its backlog is full at the moment.
      if (errno != EAGAIN)
        fail(cudaErrorMapBufferObjectFailed, "is gone (or runs in another network namespace)");
      if (Clock::now() >= deadline_) fail(cudaErrorTimeout, "did not take the connection in time");
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  template <class Message>
  void send(const Message& message) const {
    if (!share::send_message(socket_.get(), message))
      fail(cudaErrorMapBufferObjectFailed, "hung up");
  }

  void wait_readable() const {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
      if (left.count() <= 0) fail(cudaErrorTimeout, "did not answer in time");
      pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      const int ready =
          poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
      if (ready > 0) return;
    }
  }

  template <class Message>
  Message receive(OwnedFd* passed) const {
    wait_readable();
    Message message;
    iovec part{&message, sizeof message};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t received = recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const cmsghdr* rights = received > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
    if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(int))) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
      OwnedFd owned(fd);
      if (passed != nullptr) *passed = std::move(owned);
    }
    if (received != sizeof message) {
      fail(cudaErrorInvalidResourceHandle,
           "refused (the descriptor was withdrawn, or the ticket is wrong)");
    }
    return message;
  }

  [[nodiscard]] int peer_pid() const {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return 0;
    return credentials.pid;
  }

  const FdTicket& ticket_;
  const std::string name_;
  const Clock::time_point deadline_;
  OwnedFd socket_;
};

}  // namespace

FetchedFd fetch_fd(const FdTicket& ticket, std::chrono::milliseconds timeout) {
  return Fetch(ticket, timeout).run();
}

}  // namespace ripieno::hostrt

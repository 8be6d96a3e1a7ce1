// Listening, connecting, and the short greeting that tells who came.
#include "perf/meeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>

#include "base/deadline.h"
#include "base/error.h"
#include "command.h"

namespace ripieno::tool::perf {
namespace {

/// First bytes on a connection: who came, and to which size of measurement.
struct Greeting {
  std::array<char, 8> magic = {'r', 'i', 'p', 'p', 'e', 'r', 'f', '1'};
  std::int32_t process = 0;
  std::int32_t processes = 0;
};

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address unix_address(const std::string& job) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The first byte stays 0: a name in the abstract space, not a file.
  const std::string name =
      fmt::format("ripieno-perf-{}-{}", ::getuid(), job).substr(0, sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  Address result;
  std::memcpy(&result.storage, &address, sizeof(address));
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return result;
}

Address tcp_address(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int fault = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (fault != 0)
    throw UsageError(fmt::format("MASTER_ADDR is '{}': {}", host, ::gai_strerror(fault)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Address result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.length = found->ai_addrlen;
  return result;
}

Address meeting_point(const Placement& placement) {
  if (!placement.master_address.empty()) {
    if (placement.master_port < 1 || placement.master_port > 65534) {
      throw UsageError("MASTER_ADDR is set, but MASTER_PORT is not a port from 1 to 65534");
    }
    return tcp_address(placement.master_address, placement.master_port + 1);
  }
  if (!placement.one_host) {
    throw UsageError(
        "the processes run on several hosts; set MASTER_ADDR to the host of rank 0 and "
        "MASTER_PORT, "
        "the port before a free one");
  }
  return unix_address(placement.job);
}

UniqueFd open_socket(const Address& address) {
  UniqueFd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw Error::system("opening a socket for the processes to meet", errno);
  const int on = 1;
  if (address.storage.ss_family != AF_UNIX) {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  return socket;
}

/// Reads a greeting within a moment; process -1 for anything else.
Greeting read_greeting(int socket) {
  constexpr timeval kMoment = {5, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kMoment, sizeof(kMoment));
  Greeting got;
  const ssize_t length = ::recv(socket, &got, sizeof(got), MSG_WAITALL);
  constexpr timeval kForever = {0, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kForever, sizeof(kForever));
  if (length != sizeof(got) || got.magic != Greeting{}.magic) got.process = -1;
  return got;
}

/// From an abstract socket anybody may come; only processes of this user are let in.
bool is_own_user(int socket, const Address& address) {
  if (address.storage.ss_family != AF_UNIX) return true;
  ucred peer{};
  socklen_t length = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == ::getuid();
}

[[noreturn]] void name_missing(const std::vector<UniqueFd>& sockets,
                               std::chrono::seconds patience) {
  std::vector<std::size_t> missing;
  for (std::size_t index = 0; index < sockets.size(); ++index) {
    if (!sockets[index]) missing.push_back(index + 1);
  }
  throw LostProcess(fmt::format("{} of {} processes came within {} s; missing: {}",
                                sockets.size() + 1 - missing.size(), sockets.size() + 1,
                                patience.count(), fmt::join(missing, ", ")));
}

std::vector<UniqueFd> receive_all(const Placement& placement, const Address& address,
                                  std::chrono::seconds patience) {
  const UniqueFd listener = open_socket(address);
  if (::bind(listener.get(), address.get(), address.length) != 0 ||
      ::listen(listener.get(), 1024) != 0) {
    throw Error::system("listening for the other processes", errno);
  }
  const Deadline deadline = Deadline::after(patience);
  std::vector<UniqueFd> sockets(static_cast<std::size_t>(placement.processes - 1));
  for (std::size_t arrived = 0; arrived < sockets.size();) {
    pollfd wait{listener.get(), POLLIN, 0};
    if (::poll(&wait, 1, deadline.poll_timeout()) == 0) name_missing(sockets, patience);
    UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket || !is_own_user(socket.get(), address)) continue;
    const Greeting greeting = read_greeting(socket.get());
    if (greeting.process < 1 || greeting.process >= placement.processes) continue;
    UniqueFd& place = sockets[static_cast<std::size_t>(greeting.process - 1)];
    if (place || greeting.processes != placement.processes) continue;
    place = std::move(socket);
    ++arrived;
  }
  return sockets;
}

UniqueFd connect_to_first(const Placement& placement, const Address& address,
                          std::chrono::seconds patience) {
  const Deadline deadline = Deadline::after(patience);
  while (true) {
    UniqueFd socket = open_socket(address);
    if (::connect(socket.get(), address.get(), address.length) == 0) {
      Greeting greeting;
      greeting.process = placement.process;
      greeting.processes = placement.processes;
      if (::send(socket.get(), &greeting, sizeof(greeting), MSG_NOSIGNAL) == sizeof(greeting))
        return socket;
    }
    if (deadline.expired()) {
      throw LostProcess(fmt::format("process {} could not reach process 0 within {} s: {}",
                                    placement.process, patience.count(), std::strerror(errno)));
    }
    // Process 0 may not listen yet.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

Team meet(const Placement& placement, std::chrono::seconds patience) {
  if (placement.processes == 1) return {};
  const Address address = meeting_point(placement);
  std::vector<UniqueFd> sockets;
  if (placement.process == 0) {
    sockets = receive_all(placement, address, patience);
  } else {
    sockets.push_back(connect_to_first(placement, address, patience));
  }
  return {placement.process, placement.processes, std::move(sockets)};
}

}  // namespace ripieno::tool::perf

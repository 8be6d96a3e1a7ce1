// Thin layers over the system calls.
#include "bootstrap/sockets.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>

#include "base/error.h"
#include "base/parameters.h"

namespace ripieno::bootstrap {
namespace {

constexpr StringParameter kPortRange{"RIPIENO_PORT_RANGE"};
/// The kernel cuts it to net.core.somaxconn: many ranks may knock at the same moment.
constexpr int kBacklog = 16384;

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

UniqueFd make_socket(const Address& address) {
  UniqueFd socket(
      ::socket(address.system_family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!socket) throw Error::system("Could not make a socket", errno);
  return socket;
}

/// 0, or the errno of bind or listen.
int try_listen(int socket, const Address& address) {
  sockaddr_storage storage;
  const socklen_t length = address.to_system(storage);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&storage), length) != 0) return errno;
  return ::listen(socket, kBacklog) != 0 ? errno : 0;
}

/// A socket whose listen() failed stays bound, so every try takes a new one.
int try_listen(UniqueFd& socket, const Address& address) {
  socket = make_socket(address);
  // A port in TIME_WAIT after an earlier run is free for a listener.
  constexpr int kOn = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof(kOn));
  return try_listen(socket.get(), address);
}

int try_range(UniqueFd& socket, const Address& address, const PortRange& range) {
  // Ranks that start together begin at different places, so that they do not race for the same
  // port.
  const std::uint32_t count = range.last - range.first + 1U;
  const std::uint32_t start = randombytes_uniform(count);
  int error = EADDRINUSE;
  for (std::uint32_t step = 0; step < count && error == EADDRINUSE; ++step) {
    const auto port = static_cast<std::uint16_t>(range.first + (start + step) % count);
    error = try_listen(socket, address.with_port(port));
  }
  return error;
}

[[noreturn]] void throw_listen_error(const Address& address, const std::optional<PortRange>& range,
                                     int error) {
  if (error == EADDRNOTAVAIL) {
    throw Error(ncclInvalidArgument, "Cannot listen at {}: the address is not on this host",
                address.to_string());
  }
  if (range && error == EADDRINUSE) {
    throw Error(
        ncclSystemError,
        "Cannot listen at {}: every port of RIPIENO_PORT_RANGE {}-{} is in use; widen the range",
        address.to_string(), range->first, range->last);
  }
  throw Error::system(fmt::format("Cannot listen at {}", address.to_string()), error);
}

}  // namespace

std::optional<PortRange> parse_port_range(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
  if (!first || !last || *first > *last) {
    throw Error(ncclInvalidUsage,
                "RIPIENO_PORT_RANGE=`{}` is not a range: write first-last, from 1 to 65535", text);
  }
  return PortRange{.first = *first, .last = *last};
}

Listener listen_at(const Address& address) {
  return listen_at(address, parse_port_range(kPortRange.value()));
}

Listener listen_at(const Address& address, std::optional<PortRange> range) {
  if (address.port() != 0) range.reset();
  UniqueFd socket;
  const int error = range ? try_range(socket, address, *range) : try_listen(socket, address);
  if (error != 0) throw_listen_error(address, range, error);
  sockaddr_storage bound;
  socklen_t length = sizeof(bound);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    throw Error::system("Could not read the port of a listener", errno);
  }
  const Address taken(reinterpret_cast<const sockaddr&>(bound));
  return {.socket = std::move(socket), .address = taken};
}

UniqueFd start_connect(const Address& address, int& error) {
  UniqueFd socket = make_socket(address);
  sockaddr_storage storage;
  const socklen_t length = address.to_system(storage);
  error = 0;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 &&
      errno != EINPROGRESS && errno != EINTR) {
    error = errno;
  }
  return socket;
}

int connect_outcome(int socket) noexcept {
  int error = 0;
  socklen_t length = sizeof(error);
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

void send_without_delay(int socket) noexcept {
  constexpr int kOn = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof(kOn));
}

}  // namespace ripieno::bootstrap

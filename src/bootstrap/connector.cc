// Blocking with an end: every wait watches the deadline and the cancellation.
#include "bootstrap/connector.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "bootstrap/sockets.h"

namespace ripieno::bootstrap {
namespace {

using std::chrono::milliseconds;

/// One try.
class Attempt {
 public:
  Attempt(const Route& route, Deadline silence, Deadline deadline, const Cancellation& cancellation)
      : route_(route),
        limit_(earlier(silence, deadline)),
        deadline_(deadline),
        cancellation_(cancellation) {}

  Connected run() {
    int error = 0;
    UniqueFd socket = start_connect(route_.address, error);
    if (error == 0) {
      if (!wait_for(socket.get(), POLLOUT, limit_, cancellation_)) return silent();
      error = connect_outcome(socket.get());
    }
    if (error != 0) return unreachable(error);
    send_without_delay(socket.get());
    return prove(std::move(socket));
  }

 private:
  Connected prove(UniqueFd socket) {
    const HelloBytes hello = encode(Hello{.purpose = route_.purpose,
                                          .from = static_cast<std::uint32_t>(route_.from),
                                          .nonce = random_key()});
    if (!send_all(socket.get(), hello)) return hung_up();
    if (route_.server_nonce)
      return finish(std::move(socket), Handshake(route_.key, hello, *route_.server_nonce));
    Challenge challenge;
    std::size_t held = 0;
    while (held < challenge.size()) {
      if (!wait_for(socket.get(), POLLIN, limit_, cancellation_)) return silent();
      const ssize_t count =
          ::recv(socket.get(), challenge.data() + held, challenge.size() - held, MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (count <= 0) return hung_up();
      held += static_cast<std::size_t>(count);
    }
    Nonce nonce;
    std::memcpy(nonce.data(), challenge.data(), nonce.size());
    const Handshake handshake(route_.key, hello, nonce);
    if (!equal(handshake.server_proof(), std::span(challenge).subspan(nonce.size()))) {
      return {.channel = nullptr,
              .reason = Unreachable::kForged,
              .detail = fmt::format("{} does not know the secret of the unique id",
                                    route_.address.to_string())};
    }
    return finish(std::move(socket), handshake);
  }

  Connected finish(UniqueFd socket, const Handshake& handshake) {
    if (!send_all(socket.get(), handshake.client_proof())) return hung_up();
    return {.channel = std::make_unique<Channel>(std::move(socket), handshake.keys(), End::kClient,
                                                 route_.frame_limit, route_.peer)};
  }

  /// A few dozen bytes into a fresh socket's empty buffer.
  static bool send_all(int socket, std::span<const std::byte> bytes) {
    ssize_t count = -1;
    do {
      count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    return count == static_cast<ssize_t>(bytes.size());
  }

  [[nodiscard]] Connected unreachable(int error) const {
    const bool nobody = error == ECONNREFUSED || error == ECONNRESET || error == ECONNABORTED;
    return {.channel = nullptr,
            .reason = nobody ? Unreachable::kRefused : Unreachable::kNoRoute,
            .detail = Error::system(
                          fmt::format("Could not connect to {}", route_.address.to_string()), error)
                          .what()};
  }
  [[nodiscard]] Connected hung_up() const {
    return {.channel = nullptr,
            .reason = Unreachable::kHungUp,
            .detail =
                fmt::format("{} hung up before it had proved itself", route_.address.to_string())};
  }
  [[nodiscard]] Connected silent() const {
    return {.channel = nullptr,
            .reason = Unreachable::kSilent,
            .detail = fmt::format("{} accepts connections but does not answer",
                                  route_.address.to_string())};
  }

  const Route& route_;
  Deadline limit_;
  Deadline deadline_;
  const Cancellation& cancellation_;
};

milliseconds patience_for(Unreachable reason, const Persistence& persistence) {
  switch (reason) {
    case Unreachable::kRefused:
      return persistence.when_refused;
    case Unreachable::kHungUp:
      return persistence.when_hung_up;
    case Unreachable::kSilent:
      return persistence.when_silent;
    case Unreachable::kForged:
    case Unreachable::kNoRoute:
      return milliseconds(0);
  }
  return milliseconds(0);
}

}  // namespace

void throw_cancelled() {
  throw Error(ncclInvalidUsage, "The communicator was aborted while its ranks were meeting");
}

bool wait_for(int fd, short events, Deadline deadline, const Cancellation& cancellation) {
  while (true) {
    std::array<pollfd, 2> watched{pollfd{.fd = cancellation.fd(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = fd, .events = events, .revents = 0}};
    const int ready = ::poll(watched.data(), watched.size(), deadline.poll_timeout());
    if (ready < 0 && errno != EINTR) throw Error::system("Could not wait for a connection", errno);
    if (cancellation.cancelled()) throw_cancelled();
    if (ready > 0 && watched[1].revents != 0) return true;
    if (deadline.expired()) return false;
  }
}

Connected connect_along(const Route& route, const Persistence& persistence, Deadline deadline,
                        const Cancellation& cancellation) {
  const auto start = Deadline::Clock::now();
  constexpr milliseconds kFirstPause{2};
  constexpr milliseconds kLongestPause{100};
  milliseconds pause = kFirstPause;
  while (true) {
    if (cancellation.cancelled()) throw_cancelled();
    Connected result =
        Attempt(route, Deadline::after(persistence.when_silent), deadline, cancellation).run();
    if (result.channel) return result;
    const auto spent = Deadline::Clock::now() - start;
    if (deadline.expired() || spent >= patience_for(result.reason, persistence)) return result;
    wait_for(-1, 0, earlier(Deadline::after(pause), deadline), cancellation);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace ripieno::bootstrap

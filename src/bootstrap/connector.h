// The client's side of a connection: connects, proves, and comes back with a channel.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/cancellation.h"
#include "base/deadline.h"
#include "bootstrap/address.h"
#include "bootstrap/channel.h"
#include "bootstrap/handshake.h"

namespace ripieno::bootstrap {

/// Where to, as whom, and with which proof.
struct Route {
  Address address;
  Purpose purpose;
  int from;  ///< This rank.
  Key key;
  std::optional<Nonce> server_nonce;  ///< Known beforehand: kDirect.
  std::string peer;                   ///< For errors: "rank 3".
  std::size_t frame_limit;
};

/// How long to keep trying, by what goes wrong. The deadline ends all of them.
struct Persistence {
  std::chrono::milliseconds when_refused;  ///< Nobody listens there.
  std::chrono::milliseconds when_hung_up;  ///< Somebody hangs up during the handshake.
  std::chrono::milliseconds when_silent;   ///< Somebody accepts and says nothing.
};

/// Why a route led nowhere.
enum class Unreachable : std::uint8_t { kRefused, kHungUp, kSilent, kForged, kNoRoute };

/// A channel, or why there is none, with `detail` for people. Throws Error for cancellation, the
/// deadline (ncclRemoteError) and faults of this host.
struct Connected {
  std::unique_ptr<Channel> channel;
  Unreachable reason = Unreachable::kRefused;
  std::string detail{};
};
Connected connect_along(const Route& route, const Persistence& persistence, Deadline deadline,
                        const Cancellation& cancellation);

/// Waits until `fd` has one of `events` (0: just waits), the deadline has passed (false), or throws
/// on cancellation.
bool wait_for(int fd, short events, Deadline deadline, const Cancellation& cancellation);
[[noreturn]] void throw_cancelled();

}  // namespace ripieno::bootstrap

// The few socket operations that the room needs: all descriptors are close-on-exec and
// non-blocking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "bootstrap/address.h"

namespace ripieno::bootstrap {

struct PortRange {
  std::uint16_t first;
  std::uint16_t last;
};
/// `first-last` of RIPIENO_PORT_RANGE; empty: no range. Throws Error (ncclInvalidUsage).
std::optional<PortRange> parse_port_range(std::string_view text);

struct Listener {
  UniqueFd socket;
  Address address;  ///< With the port taken.
};
/// Listens at the address. With port 0 it takes a free port of RIPIENO_PORT_RANGE, or any. Throws
/// Error (ncclSystemError; ncclInvalidArgument when the address is not one of this host).
Listener listen_at(const Address& address);
Listener listen_at(const Address& address, std::optional<PortRange> range);

/// Starts connecting; the socket becomes writable when that is done. errno of failures that show at
/// once comes back in `error`.
UniqueFd start_connect(const Address& address, int& error);
/// The outcome, once writable: 0 or an errno.
int connect_outcome(int socket) noexcept;
/// Small messages go out at once.
void send_without_delay(int socket) noexcept;

}  // namespace ripieno::bootstrap

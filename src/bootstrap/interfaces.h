// Which network interface the library's listeners bind to. Listing asks the system; choosing is a
// pure function over the list, in NCCL's syntax.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/address.h"

namespace ripieno::bootstrap {

/// One address of an interface that is up; an interface with several appears several times.
struct Interface {
  std::string name;
  Address address;      ///< Port 0.
  int prefix_bits = 0;  ///< Length of the subnet's prefix.
};

struct InterfaceWish {
  std::string_view names;          ///< NCCL_SOCKET_IFNAME; empty: no wish.
  std::optional<Family> family;    ///< NCCL_SOCKET_FAMILY.
  std::optional<Address> towards;  ///< Prefer the subnet of this address, where `names` is empty.
};

/// Interfaces of this host that are up and have an IPv4 or IPv6 address, in the system's order.
std::vector<Interface> list_interfaces();

/// The one to use: by the wish's names (`a,b` prefixes in order of preference, `=a,b` exact, `^a,b`
/// all but these, `^=a,b` both; `name/address` one address of several), else ib*, then others, then
/// docker*, then lo. Within one interface global addresses come before loopback and link-local
/// ones, IPv4 before IPv6. Throws Error (ncclInvalidUsage) that lists what is there when nothing
/// fits.
const Interface& choose_interface(std::span<const Interface> present, const InterfaceWish& wish);

/// choose_interface() over this host with the process's parameters.
Interface chosen_interface(std::optional<Address> towards);

}  // namespace ripieno::bootstrap

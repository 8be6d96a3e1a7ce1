// The choice gives every candidate a rank of preference and takes the least; the system's order
// breaks ties.
#include "bootstrap/interfaces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <array>
#include <bit>
#include <compare>
#include <memory>

#include "base/error.h"
#include "base/parameters.h"

namespace ripieno::bootstrap {
namespace {

enum class SocketFamily { kV4, kV6 };
constexpr StringParameter kNames{"NCCL_SOCKET_IFNAME"};
constexpr EnumParameter<SocketFamily> kFamily{"NCCL_SOCKET_FAMILY"};

/// One name of the list, perhaps with one of the interface's addresses.
struct Pattern {
  std::string_view name;
  std::optional<Address> address;
};

struct Names {
  bool excludes = false;
  bool exact = false;
  std::vector<Pattern> patterns;
};

Names parse_names(std::string_view text) {
  Names names;
  if (text.starts_with('^')) {
    names.excludes = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    names.exact = true;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (word.empty()) continue;
    const auto slash = word.find('/');
    Pattern pattern{.name = word.substr(0, slash), .address = std::nullopt};
    if (slash != std::string_view::npos) {
      pattern.address = Address::parse(word.substr(slash + 1), 0);
      if (!pattern.address) {
        throw Error(ncclInvalidUsage,
                    "NCCL_SOCKET_IFNAME: `{}` does not end in an IPv4 or IPv6 address", word);
      }
    }
    names.patterns.push_back(pattern);
  }
  return names;
}

/// Position of the first pattern that fits, or the number of patterns.
std::size_t position_in(const Names& names, const Interface& interface) {
  for (std::size_t at = 0; at < names.patterns.size(); ++at) {
    const Pattern& pattern = names.patterns[at];
    const bool fits =
        names.exact ? interface.name == pattern.name : interface.name.starts_with(pattern.name);
    const bool address_fits =
        !pattern.address || pattern.address->with_scope(0) == interface.address.with_scope(0);
    if (fits && address_fits) return at;
  }
  return names.patterns.size();
}

/// InfiniBand first, containers' bridges and loopback last; a link-local address reaches fewer
/// peers than a real one, but more than a bridge inside the host.
int default_class(const Interface& interface) {
  if (interface.name == "lo") return 4;
  if (interface.name.starts_with("docker")) return 3;
  if (interface.address.is_link_local()) return 2;
  return interface.name.starts_with("ib") ? 0 : 1;
}

/// Less is better.
struct Preference {
  bool other_subnet;
  std::size_t position;
  int name_class;
  bool link_local;
  bool loopback;
  bool v6;
  auto operator<=>(const Preference&) const = default;
};

std::string describe(std::span<const Interface> present) {
  if (present.empty()) return "none with an address";
  std::vector<std::string> all;
  for (const Interface& interface : present) {
    all.push_back(fmt::format("{} ({})", interface.name, interface.address.to_string()));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

int count_bits(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  const auto count = [](const auto& bytes) {
    int bits = 0;
    for (const unsigned char byte : bytes) bits += std::popcount(byte);
    return bits;
  };
  if (mask->sa_family == AF_INET) {
    std::array<unsigned char, 4> bytes;
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, bytes.size());
    return count(bytes);
  }
  std::array<unsigned char, 16> bytes;
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, bytes.size());
  return count(bytes);
}

}  // namespace

std::vector<Interface> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw Error::system("Could not list network interfaces", errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
  std::vector<Interface> all;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    constexpr unsigned kUsable = IFF_UP | IFF_RUNNING;
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & kUsable) != kUsable) continue;
    const Address address(*entry->ifa_addr);
    if (address.family() == Family::kNone) continue;
    all.push_back({.name = entry->ifa_name,
                   .address = address,
                   .prefix_bits = count_bits(entry->ifa_netmask)});
  }
  return all;
}

const Interface& choose_interface(std::span<const Interface> present, const InterfaceWish& wish) {
  const Names names = parse_names(wish.names);
  const bool includes = !names.excludes && !names.patterns.empty();
  const Interface* best = nullptr;
  Preference best_preference{};
  for (const Interface& interface : present) {
    if (wish.family && interface.address.family() != *wish.family) continue;
    const std::size_t position = position_in(names, interface);
    const bool named = position < names.patterns.size();
    if (includes ? !named : named) continue;
    const Preference preference{
        .other_subnet = !includes && wish.towards &&
                        !interface.address.shares_prefix(*wish.towards, interface.prefix_bits),
        .position = includes ? position : 0,
        .name_class = includes ? 0 : default_class(interface),
        .link_local = interface.address.is_link_local(),
        .loopback = interface.address.is_loopback(),
        .v6 = interface.address.family() == Family::kV6};
    if (best == nullptr || preference < best_preference) {
      best = &interface;
      best_preference = preference;
    }
  }
  if (best != nullptr) return *best;
  throw Error(ncclInvalidUsage,
              "No network interface fits NCCL_SOCKET_IFNAME=`{}`{}; interfaces that are up: {}",
              wish.names,
              !wish.family                  ? ""
              : *wish.family == Family::kV6 ? " and NCCL_SOCKET_FAMILY=AF_INET6"
                                            : " and NCCL_SOCKET_FAMILY=AF_INET",
              describe(present));
}

Interface chosen_interface(std::optional<Address> towards) {
  InterfaceWish wish{.names = kNames.value(), .family = std::nullopt, .towards = towards};
  if (kFamily.is_set()) {
    wish.family = kFamily.value() == SocketFamily::kV6 ? Family::kV6 : Family::kV4;
  }
  return choose_interface(list_interfaces(), wish);
}

}  // namespace ripieno::bootstrap

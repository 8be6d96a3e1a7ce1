// Conversions between our value, the system's structures and texts.
#include "bootstrap/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>

#include <charconv>
#include <memory>

#include "base/error.h"

namespace ripieno::bootstrap {
namespace {

constexpr std::size_t width(Family family) {
  return family == Family::kV6 ? 16 : 4;
}

struct HostAndPort {
  std::string host;
  std::uint16_t port;
};

std::optional<HostAndPort> split_host_and_port(std::string_view text) {
  std::string_view host;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find("]:");
    if (close == std::string_view::npos) return std::nullopt;
    host = text.substr(1, close - 1);
    port = text.substr(close + 2);
  } else {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
      return std::nullopt;
    }
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool is_whole = error == std::errc() && end == port.data() + port.size();
  if (host.empty() || !is_whole || number == 0) return std::nullopt;
  return HostAndPort{.host = std::string(host), .port = number};
}

}  // namespace

Address::Address(const sockaddr& address) noexcept {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    family_ = Family::kV4;
    port_ = ntohs(v4.sin_port);
    std::memcpy(bytes_.data(), &v4.sin_addr, 4);
  } else if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    family_ = Family::kV6;
    port_ = ntohs(v6.sin6_port);
    scope_ = v6.sin6_scope_id;
    std::memcpy(bytes_.data(), &v6.sin6_addr, 16);
  }
}

std::optional<Address> Address::parse(std::string_view text, std::uint16_t port) {
  Address address;
  address.port_ = port;
  const auto percent = text.find('%');
  const std::string host(text.substr(0, percent));
  if (::inet_pton(AF_INET, host.c_str(), address.bytes_.data()) == 1) {
    if (percent != std::string_view::npos) return std::nullopt;
    address.family_ = Family::kV4;
    return address;
  }
  if (::inet_pton(AF_INET6, host.c_str(), address.bytes_.data()) != 1) return std::nullopt;
  address.family_ = Family::kV6;
  if (percent != std::string_view::npos) {
    const std::string interface(text.substr(percent + 1));
    address.scope_ = ::if_nametoindex(interface.c_str());
    if (address.scope_ == 0) return std::nullopt;
  }
  return address;
}

Address Address::with_port(std::uint16_t port) const noexcept {
  Address copy = *this;
  copy.port_ = port;
  return copy;
}

Address Address::with_scope(std::uint32_t scope) const noexcept {
  Address copy = *this;
  copy.scope_ = scope;
  return copy;
}

bool Address::is_link_local() const noexcept {
  if (family_ == Family::kV4) return bytes_[0] == std::byte{169} && bytes_[1] == std::byte{254};
  return family_ == Family::kV6 && bytes_[0] == std::byte{0xfe} &&
         (bytes_[1] & std::byte{0xc0}) == std::byte{0x80};
}

bool Address::is_loopback() const noexcept {
  if (family_ == Family::kV4) return bytes_[0] == std::byte{127};
  constexpr std::array<std::byte, 16> kLoopback = [] {
    std::array<std::byte, 16> bytes{};
    bytes[15] = std::byte{1};
    return bytes;
  }();
  return family_ == Family::kV6 && bytes_ == kLoopback;
}

bool Address::shares_prefix(const Address& other, int bits) const noexcept {
  if (family_ != other.family_ || family_ == Family::kNone) return false;
  if (bits < 0 || bits > static_cast<int>(8 * width(family_))) return false;
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (std::memcmp(bytes_.data(), other.bytes_.data(), whole) != 0) return false;
  const int left = bits % 8;
  if (left == 0) return true;
  const auto mask = static_cast<std::byte>(0xff << (8 - left));
  return (bytes_[whole] & mask) == (other.bytes_[whole] & mask);
}

socklen_t Address::to_system(sockaddr_storage& storage) const noexcept {
  storage = {};
  if (family_ == Family::kV6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port_);
    v6.sin6_scope_id = scope_;
    std::memcpy(&v6.sin6_addr, bytes_.data(), 16);
    return sizeof(v6);
  }
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port_);
  std::memcpy(&v4.sin_addr, bytes_.data(), 4);
  return sizeof(v4);
}

std::string Address::to_string() const {
  if (family_ == Family::kNone) return "no address";
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(system_family(), bytes_.data(), text.data(), text.size());
  std::string host = text.data();
  std::array<char, IF_NAMESIZE> name{};
  if (scope_ != 0 && ::if_indextoname(scope_, name.data()) != nullptr) {
    host += fmt::format("%{}", name.data());
  }
  if (port_ == 0) return host;
  return family_ == Family::kV6 ? fmt::format("[{}]:{}", host, port_)
                                : fmt::format("{}:{}", host, port_);
}

void Address::encode(ByteWriter& writer) const {
  writer.number(static_cast<std::uint8_t>(family_));
  writer.number(port_);
  writer.number(scope_);
  writer.raw(bytes_);
}

Address Address::decode(ByteReader& reader) noexcept {
  Address address;
  const auto family = static_cast<Family>(reader.number<std::uint8_t>());
  address.port_ = reader.number<std::uint16_t>();
  address.scope_ = reader.number<std::uint32_t>();
  reader.array(address.bytes_);
  if (!reader.good() || (family != Family::kV4 && family != Family::kV6)) return {};
  address.family_ = family;
  return address;
}

Address resolve_host_and_port(std::string_view text, std::optional<Family> family) {
  const auto parts = split_host_and_port(text);
  if (!parts) {
    throw Error(
        ncclInvalidArgument,
        "NCCL_COMM_ID=`{}` is not an address: write host:port, or [v6 address]:port, with a "
        "port from 1 to 65535",
        text);
  }
  if (const auto numeric = Address::parse(parts->host, parts->port)) return *numeric;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_family = AF_UNSPEC;
  if (family) wanted.ai_family = *family == Family::kV6 ? AF_INET6 : AF_INET;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(parts->host.c_str(), nullptr, &wanted, &found);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  if (error != 0 || found == nullptr) {
    throw Error(ncclInvalidArgument, "NCCL_COMM_ID=`{}`: the host `{}` cannot be resolved: {}",
                text, parts->host, ::gai_strerror(error));
  }
  return Address(*found->ai_addr).with_port(parts->port);
}

}  // namespace ripieno::bootstrap

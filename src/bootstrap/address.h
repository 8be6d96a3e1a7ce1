// An IPv4 or IPv6 address with a port, as a value.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bootstrap/bytes.h"

namespace ripieno::bootstrap {

enum class Family : std::uint8_t { kNone = 0, kV4 = 4, kV6 = 6 };

class Address {
 public:
  Address() = default;
  /// From the system's structure; kNone for other families.
  explicit Address(const sockaddr& address) noexcept;

  /// Numeric text without a port: `10.0.0.1`, `fe80::1%eth0`, `::1`.
  [[nodiscard]] static std::optional<Address> parse(std::string_view text, std::uint16_t port);

  [[nodiscard]] Family family() const noexcept { return family_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::uint32_t scope() const noexcept { return scope_; }
  [[nodiscard]] Address with_port(std::uint16_t port) const noexcept;
  /// A link-local address means something only together with the interface it is reached through.
  [[nodiscard]] Address with_scope(std::uint32_t scope) const noexcept;
  [[nodiscard]] bool is_link_local() const noexcept;
  [[nodiscard]] bool is_loopback() const noexcept;
  /// Whether the first `bits` of both are equal.
  [[nodiscard]] bool shares_prefix(const Address& other, int bits) const noexcept;

  /// The system's structure and its length.
  [[nodiscard]] socklen_t to_system(sockaddr_storage& storage) const noexcept;
  [[nodiscard]] int system_family() const noexcept {
    return family_ == Family::kV6 ? AF_INET6 : AF_INET;
  }
  /// `10.0.0.1:80`, `[::1]:80`; without ":port" where the port is 0.
  [[nodiscard]] std::string to_string() const;

  static constexpr std::size_t kEncodedBytes = 23;
  void encode(ByteWriter& writer) const;
  /// kNone with a reader turned bad or an unknown family.
  [[nodiscard]] static Address decode(ByteReader& reader) noexcept;

  friend bool operator==(const Address&, const Address&) = default;

 private:
  Family family_ = Family::kNone;
  std::uint16_t port_ = 0;
  std::uint32_t scope_ = 0;
  std::array<std::byte, 16> bytes_{};  ///< Network order; IPv4 uses the first four.
};

/// `host:port` or `[v6]:port` of NCCL_COMM_ID. Names are resolved, in `family` where one is asked
/// for. Throws Error (ncclInvalidArgument) with the reason.
Address resolve_host_and_port(std::string_view text, std::optional<Family> family);

}  // namespace ripieno::bootstrap

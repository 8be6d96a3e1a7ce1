// What links carry, in GB/s: the few constants from which all bandwidths of a topology follow.
// They are what one direction sustains, not what a data sheet says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ripieno::topo {

/// Links that are never the bottleneck.
inline constexpr double kLocalGbps = 5000.0;
/// A network whose speed nobody knows.
inline constexpr double kDefaultNetGbps = 12.0;

enum class CpuVendor : std::uint8_t { kUnknown, kIntel, kAmd, kZhaoxin };
enum class CpuArch : std::uint8_t { kUnknown, kX86, kArm, kPower };

/// One NVLink of a GPU of this compute capability (major * 10 + minor).
[[nodiscard]] double nvlink_gbps(int compute_capability) noexcept;
/// A PCI link: "16.0 GT/s PCIe" and a number of lanes. Empty or unknown speed: Gen3; no lanes: 16.
[[nodiscard]] double pci_gbps(std::string_view speed, int lanes) noexcept;
/// The link between two CPUs of a host.
[[nodiscard]] double cpu_gbps(CpuArch arch, CpuVendor vendor, int family, int model) noexcept;
/// A network of this speed in Mbit/s; 0 or less: unknown.
[[nodiscard]] double net_gbps(double speed_mbps) noexcept;

/// How much of a PCI link a transfer between devices takes when an Intel CPU passes it on, as a
/// multiple of its size.
inline constexpr double kIntelPeerFactor = 1.2;

}  // namespace ripieno::topo

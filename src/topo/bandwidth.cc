#include "topo/bandwidth.h"

#include <charconv>

namespace ripieno::topo {

double nvlink_gbps(int compute_capability) noexcept {
  if (compute_capability >= 100) return 40.1;
  if (compute_capability >= 90) return 20.6;
  if (compute_capability == 86) return 12.0;
  if (compute_capability >= 70) return 20.0;
  return 18.0;
}

double pci_gbps(std::string_view speed, int lanes) noexcept {
  // 8 GT/s on 16 lanes sustain 12 GB/s, and so on in proportion.
  double gigatransfers = 0.0;
  const auto [end, fault] =
      std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
  if (fault != std::errc{} || !(gigatransfers > 0.0) || gigatransfers > 1e4) gigatransfers = 8.0;
  if (lanes <= 0) lanes = 16;
  return 12.0 * gigatransfers / 8.0 * lanes / 16.0;
}

double cpu_gbps(CpuArch arch, CpuVendor vendor, int family, int model) noexcept {
  if (arch == CpuArch::kPower) return 32.0;
  if (arch == CpuArch::kArm) return 6.0;
  if (vendor == CpuVendor::kIntel) {
    if (family == 6 && model >= 0xcf) return 40.0;  // Emerald Rapids
    if (family == 6 && model >= 0x8f) return 22.0;  // Sapphire Rapids
    if (family == 6 && model >= 0x55) return 10.0;  // Skylake
    return 6.0;                                     // Broadwell
  }
  if (vendor == CpuVendor::kAmd) return 16.0;
  if (vendor == CpuVendor::kZhaoxin) return 6.0;
  return 12.0;
}

double net_gbps(double speed_mbps) noexcept {
  return speed_mbps > 0.0 ? speed_mbps / 8000.0 : kDefaultNetGbps;
}

}  // namespace ripieno::topo

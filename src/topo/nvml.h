// What NVIDIA's management library knows of the machine: GPUs, their NVLinks, chip-to-chip links
// and NVLink domain. Loaded at run time and declared here; without it, or without a GPU, the list
// is empty.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ripieno::topo {

struct NvmlLink {
  std::string target{};  ///< Bus id of the other end.
  std::string kind{};    ///< PCI class: of a GPU, an NVSwitch, or a CPU's bridge.
  int count = 0;
};

struct NvmlGpu {
  std::string bus_id{};
  int compute_capability = 0;
  std::vector<NvmlLink> links{};
  int c2c_links = 0;
  int c2c_mbps = 0;                       ///< MB/s of one of them.
  std::array<std::uint8_t, 16> domain{};  ///< All zero: not in an NVLink domain of several hosts.
  int clique = 0;
};

[[nodiscard]] std::vector<NvmlGpu> nvml_gpus();

}  // namespace ripieno::topo

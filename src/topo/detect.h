// The machine this process runs on, as a document of the same form as a file: CPUs, PCI and links
// from the kernel, GPUs and NVLink from NVML, and whatever the caller knows of devices and
// networks. Works with any of them missing, in containers and virtual machines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "topo/document.h"
#include "topo/system.h"

namespace ripieno::topo {

/// A device of this process.
struct LocalDevice {
  int device = 0;
  std::string bus_id{};
  int compute_capability = 0;
  bool is_virtual = false;  ///< Of the host backend: spread over the NUMA nodes.
  bool direct_rdma = false;
};

/// A network interface, as the network that drives it describes it.
struct LocalNet {
  int device = 0;
  std::string name{};
  std::string sysfs_entry{};  ///< Folder or link of the card, as plugins give it; may be empty.
  double speed_mbps = 0.0;
  int port = 0;
  std::uint64_t guid = 0;
  double latency_us = 0.0;
  int max_connections = 65536;
  bool direct_rdma = false;
  bool reduces = false;
};

struct DetectionRequest {
  std::vector<LocalDevice> devices{};
  std::vector<LocalNet> nets{};
  bool ask_nvml = true;
  std::string root{};  ///< Stands for "/".
};

[[nodiscard]] Document detect(const DetectionRequest& request);

/// InfiniBand ports if there are any, else network interfaces that are up, without the loopback.
[[nodiscard]] std::vector<LocalNet> local_nets(const std::string& root = {});
/// The GPUs that NVML shows.
[[nodiscard]] std::vector<LocalDevice> nvml_devices();

/// What is detected, merged with NCCL_TOPO_FILE if it is set (a file that cannot be used is warned
/// about and left out), written to NCCL_TOPO_DUMP_FILE by rank NCCL_TOPO_DUMP_FILE_RANK.
struct Machine {
  Document document{};
  System system{};
};
[[nodiscard]] Machine local_machine(const DetectionRequest& request,
                                    const std::map<std::string, int>& rank_of_bus_id, int rank);

}  // namespace ripieno::topo

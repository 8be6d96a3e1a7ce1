// The machine as a graph: devices, switches, CPUs and network cards, joined by directed links of
// known kind and bandwidth. Nodes stand in canonical order (hosts as listed, then NUMA nodes, then
// bus ids), which does not depend on the order of a file's elements or on who has which rank: that
// is why every rank, looking at the same machine, computes the same answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topo/bandwidth.h"
#include "topo/path_type.h"

namespace ripieno::topo {

using NodeId = std::int32_t;
using LinkId = std::int32_t;
inline constexpr NodeId kNoNode = -1;

enum class NodeKind : std::uint8_t {
  kGpu,     ///< One rank's view of a device; several may share a device.
  kDevice,  ///< The PCI function of a GPU, with its NVLinks.
  kPciSwitch,
  kNvSwitch,  ///< All NVSwitches of a domain as one.
  kCpu,       ///< A NUMA node.
  kNic,       ///< The PCI function of a network card.
  kNet,       ///< A network interface.
};

struct GpuInfo {
  int device = 0;
  int rank = -1;
  int compute_capability = 0;
  bool direct_rdma = false;  ///< A network card may access its memory.
  int nvlinks = 0;
  bool on_nvswitch = false;
};

struct CpuInfo {
  int numa = 0;
  std::string affinity{};
  CpuArch arch = CpuArch::kUnknown;
  CpuVendor vendor = CpuVendor::kUnknown;
  int family = 0;
  int model = 0;
};

struct NetInfo {
  std::string name{};
  int device = 0;
  double speed_mbps = 0.0;
  int port = 0;
  std::uint64_t guid = 0;
  double latency_us = 0.0;
  int max_connections = 0;
  bool direct_rdma = false;
  bool reduces = false;  ///< The network can reduce on the way (CollNet).
  /// Interfaces with equal group are the same wire and share its bandwidth.
  int port_group = 0;
};

struct Link {
  NodeId from = kNoNode;
  NodeId to = kNoNode;
  LinkKind kind = LinkKind::kLocal;
  double gbps = 0.0;
  LinkId reverse = -1;
};

struct Node {
  NodeKind kind = NodeKind::kCpu;
  int host = 0;
  std::string bus_id{};
  NodeId parent = kNoNode;      ///< Towards the CPU.
  std::vector<LinkId> links{};  ///< Outgoing.
  GpuInfo gpu{};
  CpuInfo cpu{};
  NetInfo net{};
};

class System {
 public:
  NodeId add_node(Node node);
  /// Both directions; adds to the bandwidth if such a link exists.
  void connect(NodeId one, NodeId other, LinkKind kind, double gbps);

  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] Node& node(NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Link& link(LinkId id) const { return links_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int node_count() const noexcept { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int link_count() const noexcept { return static_cast<int>(links_.size()); }

  /// In canonical order.
  [[nodiscard]] std::span<const NodeId> gpus() const noexcept { return gpus_; }
  [[nodiscard]] std::span<const NodeId> nets() const noexcept { return nets_; }
  [[nodiscard]] std::span<const NodeId> cpus() const noexcept { return cpus_; }
  [[nodiscard]] int host_count() const noexcept { return host_count_; }
  [[nodiscard]] int rank_of(NodeId gpu) const { return node(gpu).gpu.rank; }
  /// The CPU that a node hangs from; kNoNode for an NVSwitch.
  [[nodiscard]] NodeId cpu_of(NodeId id) const;

  /// "GPU 3", "NIC mlx5_0", "NUMA 1", "PCI 0000:15:00.0".
  [[nodiscard]] std::string label(NodeId id) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<NodeId> gpus_;
  std::vector<NodeId> nets_;
  std::vector<NodeId> cpus_;
  int host_count_ = 0;
};

}  // namespace ripieno::topo

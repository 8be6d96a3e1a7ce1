#include "topo/system.h"

#include <fmt/format.h>

#include <algorithm>

namespace ripieno::topo {

NodeId System::add_node(Node node) {
  const auto id = static_cast<NodeId>(nodes_.size());
  if (node.kind == NodeKind::kGpu) gpus_.push_back(id);
  if (node.kind == NodeKind::kNet) nets_.push_back(id);
  if (node.kind == NodeKind::kCpu) cpus_.push_back(id);
  host_count_ = std::max(host_count_, node.host + 1);
  nodes_.push_back(std::move(node));
  return id;
}

void System::connect(NodeId one, NodeId other, LinkKind kind, double gbps) {
  for (const LinkId id : node(one).links) {
    Link& link = links_[static_cast<std::size_t>(id)];
    if (link.to == other && link.kind == kind) {
      link.gbps += gbps;
      links_[static_cast<std::size_t>(link.reverse)].gbps += gbps;
      return;
    }
  }
  const auto there = static_cast<LinkId>(links_.size());
  links_.push_back({.from = one, .to = other, .kind = kind, .gbps = gbps, .reverse = there + 1});
  links_.push_back({.from = other, .to = one, .kind = kind, .gbps = gbps, .reverse = there});
  node(one).links.push_back(there);
  node(other).links.push_back(there + 1);
}

NodeId System::cpu_of(NodeId id) const {
  while (id != kNoNode && node(id).kind != NodeKind::kCpu) id = node(id).parent;
  return id;
}

std::string System::label(NodeId id) const {
  const Node& it = node(id);
  switch (it.kind) {
    case NodeKind::kGpu:
      return fmt::format("GPU {}", it.gpu.device);
    case NodeKind::kDevice:
      return fmt::format("device {}", it.bus_id);
    case NodeKind::kPciSwitch:
      return fmt::format("PCI switch {}", it.bus_id);
    case NodeKind::kNvSwitch:
      return "NVSwitch";
    case NodeKind::kCpu:
      return fmt::format("NUMA {}", it.cpu.numa);
    case NodeKind::kNic:
      return it.bus_id.empty() ? "NIC" : fmt::format("NIC {}", it.bus_id);
    case NodeKind::kNet:
      return fmt::format("NET {}", it.net.name);
  }
  return {};
}

}  // namespace ripieno::topo

#include "topo/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace ripieno::topo {
namespace {

std::string speed(double gbps) {
  return fmt::format("{:g} GB/s", gbps);
}

std::string cpu_words(const CpuInfo& cpu) {
  std::string words = cpu.arch == CpuArch::kArm           ? "Arm"
                      : cpu.arch == CpuArch::kPower       ? "POWER"
                      : cpu.vendor == CpuVendor::kIntel   ? "Intel"
                      : cpu.vendor == CpuVendor::kAmd     ? "AMD"
                      : cpu.vendor == CpuVendor::kZhaoxin ? "Zhaoxin"
                                                          : "unknown vendor";
  if (cpu.arch == CpuArch::kX86) words += fmt::format(", model {}", cpu.model);
  return words;
}

/// The links of a device that are not PCI: NVLink and chip to chip.
std::string fast_links(const System& system, NodeId device) {
  std::string words;
  for (const LinkId id : system.node(device).links) {
    const Link& link = system.link(id);
    if (link.kind == LinkKind::kNvlink) {
      const Node& end = system.node(link.to);
      std::string target = system.label(link.to);
      if (end.kind == NodeKind::kDevice) target = end.bus_id;
      words += fmt::format(", NVLink {} to {}", speed(link.gbps), target);
    } else if (link.kind == LinkKind::kC2c) {
      words += fmt::format(", chip to chip {}", speed(link.gbps));
    }
  }
  return words;
}

double uplink(const System& system, NodeId id, LinkKind kind) {
  for (const LinkId link : system.node(id).links) {
    if (system.link(link).to == system.node(id).parent && system.link(link).kind == kind) {
      return system.link(link).gbps;
    }
  }
  return 0.0;
}

std::string line_of(const System& system, NodeId id) {
  const Node& node = system.node(id);
  switch (node.kind) {
    case NodeKind::kCpu:
      return fmt::format("{} ({})", system.label(id), cpu_words(node.cpu));
    case NodeKind::kPciSwitch:
      return fmt::format("{}, {}", system.label(id), speed(uplink(system, id, LinkKind::kPci)));
    case NodeKind::kDevice:
      return fmt::format("{}, PCI {}{}", node.bus_id, speed(uplink(system, id, LinkKind::kPci)),
                         fast_links(system, id));
    case NodeKind::kGpu:
      return fmt::format("GPU {} (rank {}, sm{}{})", node.gpu.device, node.gpu.rank,
                         node.gpu.compute_capability, node.gpu.direct_rdma ? "" : ", no RDMA");
    case NodeKind::kNic:
      return fmt::format("{}, {}", system.label(id),
                         node.bus_id.empty() ? std::string("no PCI function")
                                             : speed(uplink(system, id, LinkKind::kPci)));
    case NodeKind::kNet:
      return fmt::format("NET {} (device {}, port {}{}), {}", node.net.name, node.net.device,
                         node.net.port, node.net.direct_rdma ? "" : ", no RDMA",
                         speed(uplink(system, id, LinkKind::kNet)));
    case NodeKind::kNvSwitch:
      return "NVSwitch";
  }
  return {};
}

/// Rows of cells, padded to columns.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      line += fmt::format("{:<{}}  ", row[column], widths[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string cell(const Path& path) {
  return path.exists() ? fmt::format("{} {:g}", path_name(path.type), path.gbps) : "DIS";
}

}  // namespace

std::string draw_tree(const System& system) {
  std::vector<std::vector<NodeId>> children(static_cast<std::size_t>(system.node_count()));
  std::vector<NodeId> roots;
  for (NodeId id = 0; id < system.node_count(); ++id) {
    const NodeId parent = system.node(id).parent;
    if (parent != kNoNode) {
      children[static_cast<std::size_t>(parent)].push_back(id);
    } else if (system.node(id).kind == NodeKind::kCpu) {
      roots.push_back(id);
    }
  }
  std::string text;
  const std::function<void(NodeId, const std::string&)> draw = [&](NodeId id,
                                                                   const std::string& indent) {
    const std::vector<NodeId>& below = children[static_cast<std::size_t>(id)];
    for (std::size_t index = 0; index < below.size(); ++index) {
      const bool last = index + 1 == below.size();
      text += indent + (last ? "`- " : "|- ") + line_of(system, below[index]) + '\n';
      draw(below[index], indent + (last ? "   " : "|  "));
    }
  };
  int host = -1;
  for (const NodeId root : roots) {
    if (system.host_count() > 1 && system.node(root).host != host) {
      host = system.node(root).host;
      text += fmt::format("host {}\n", host);
    }
    text += line_of(system, root) + '\n';
    draw(root, "");
  }
  for (std::size_t index = 0; index + 1 < roots.size(); ++index) {
    for (const LinkId id : system.node(roots[index]).links) {
      const Link& link = system.link(id);
      if (link.kind != LinkKind::kSystem || link.to < link.from) continue;
      text += fmt::format("{} - {}: {}\n", system.label(link.from), system.label(link.to),
                          speed(link.gbps));
    }
  }
  return text;
}

std::string draw_paths(const PathTable& paths) {
  const System& system = paths.system();
  std::set<PathType> types;
  std::vector<std::vector<std::string>> rows(1);
  rows[0].emplace_back();
  for (const NodeId gpu : system.gpus()) rows[0].push_back(system.label(gpu));
  for (const NodeId net : system.nets()) rows[0].push_back(system.label(net));
  for (int gpu = 0; gpu < paths.gpu_count(); ++gpu) {
    std::vector<std::string> row = {system.label(system.gpus()[static_cast<std::size_t>(gpu)])};
    for (int other = 0; other < paths.gpu_count(); ++other) {
      const Path& path = paths.gpu_to_gpu(gpu, other);
      if (gpu != other) types.insert(path.type);
      row.push_back(gpu == other ? "-" : cell(path));
    }
    for (int net = 0; net < paths.net_count(); ++net) {
      types.insert(paths.gpu_to_net(gpu, net).type);
      const bool nearest = paths.nearest_net(gpu) == net;
      row.push_back(cell(paths.gpu_to_net(gpu, net)) + (nearest ? " *" : ""));
    }
    rows.push_back(std::move(row));
  }
  std::string text = table(rows) + '\n';
  for (const PathType type : types) {
    text += fmt::format("{}  {}\n", path_name(type), path_words(type));
  }
  if (paths.net_count() > 0) text += "*    the network card that the GPU uses\n";
  return text;
}

std::string draw_verdicts(const PathTable& paths) {
  const System& system = paths.system();
  std::string text;
  const auto label = [&](int gpu) {
    return system.label(system.gpus()[static_cast<std::size_t>(gpu)]);
  };
  for (int gpu = 0; gpu < paths.gpu_count(); ++gpu) {
    for (int other = 0; other < paths.gpu_count(); ++other) {
      if (gpu == other) continue;
      const Verdict& verdict = paths.peer_access(gpu, other);
      text += fmt::format("{} -> {}: peer access {}: {}\n", label(gpu), label(other),
                          verdict.allowed ? "yes" : "no", verdict.reason);
    }
    for (int net = 0; net < paths.net_count(); ++net) {
      const Verdict& verdict = paths.direct_rdma(gpu, net);
      text += fmt::format("{} -> {}: direct RDMA {}: {}\n", label(gpu),
                          system.label(system.nets()[static_cast<std::size_t>(net)]),
                          verdict.allowed ? "yes" : "no", verdict.reason);
    }
  }
  return text;
}

std::string draw_dot(const System& system) {
  std::string text = "graph machine {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (NodeId id = 0; id < system.node_count(); ++id) {
    std::string label;
    for (const char letter : system.label(id)) {
      if (letter == '"' || letter == '\\') label += '\\';
      label += letter;
    }
    const NodeKind kind = system.node(id).kind;
    const std::string_view fill = kind == NodeKind::kGpu   ? "palegreen"
                                  : kind == NodeKind::kNet ? "lightblue"
                                  : kind == NodeKind::kCpu ? "wheat"
                                                           : "white";
    text += fmt::format("  n{} [label=\"{}\", style=filled, fillcolor={}];\n", id, label, fill);
  }
  for (LinkId id = 0; id < system.link_count(); ++id) {
    const Link& link = system.link(id);
    if (link.reverse < id || link.kind == LinkKind::kLocal) continue;
    text += fmt::format("  n{} -- n{} [label=\"{} {:g}\"];\n", link.from, link.to,
                        link_name(link.kind), link.gbps);
  }
  // A GPU and its device are one box to a reader; the line between them has no bandwidth to show.
  for (const NodeId gpu : system.gpus()) {
    text += fmt::format("  n{} -- n{};\n", gpu, system.node(gpu).parent);
  }
  return text + "}\n";
}

}  // namespace ripieno::topo

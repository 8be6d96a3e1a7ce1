#include "topo/path_search.h"

#include <algorithm>

namespace ripieno::topo {
namespace {

bool is_endpoint(NodeKind kind) {
  return kind == NodeKind::kGpu || kind == NodeKind::kDevice || kind == NodeKind::kNic ||
         kind == NodeKind::kNet;
}

/// Whether data that comes from `source` may go on over `link`: never through somebody else's
/// device or card, except to what stands behind it.
bool passes_on(const System& system, const Link& link, NodeId source) {
  if (link.from == source || !is_endpoint(system.node(link.from).kind)) return true;
  return system.node(source).parent == link.from || system.node(link.to).parent == link.from;
}

/// Fewest links first, then most bandwidth; in layers, so that a wider way of equal length wins.
template <typename Allowed>
std::vector<Path> widest_shortest(const System& system, NodeId source, const Allowed& allowed) {
  std::vector<Path> best(static_cast<std::size_t>(system.node_count()));
  std::vector<bool> settled(best.size(), false);
  const auto at = [](NodeId id) { return static_cast<std::size_t>(id); };
  best[at(source)] = {.type = PathType::kLocal, .gbps = kLocalGbps};
  settled[at(source)] = true;
  std::vector<NodeId> layer = {source};
  while (!layer.empty()) {
    std::vector<NodeId> next;
    for (const NodeId node : layer) {
      for (const LinkId id : system.node(node).links) {
        const Link& link = system.link(id);
        if (settled[at(link.to)] || !allowed(link) || !passes_on(system, link, source)) continue;
        const double gbps = std::min(best[at(node)].gbps, link.gbps);
        Path& path = best[at(link.to)];
        if (path.links.empty()) next.push_back(link.to);
        if (path.links.empty() || path.gbps < gbps) {
          path.gbps = gbps;
          path.links = best[at(node)].links;
          path.links.push_back(id);
          path.type = PathType::kLocal;
        }
      }
    }
    std::sort(next.begin(), next.end());
    for (const NodeId node : next) settled[at(node)] = true;
    layer = std::move(next);
  }
  return best;
}

PathType type_of(const System& system, const Path& path) {
  int switches = 0;
  int cpus = 0;
  bool pci = false;
  bool c2c = false;
  bool nvlink = false;
  for (const LinkId id : path.links) {
    const Link& link = system.link(id);
    const NodeKind end = system.node(link.to).kind;
    switches += end == NodeKind::kPciSwitch ? 1 : 0;
    cpus += end == NodeKind::kCpu ? 1 : 0;
    pci = pci || link.kind == LinkKind::kPci;
    c2c = c2c || link.kind == LinkKind::kC2c;
    nvlink = nvlink || link.kind == LinkKind::kNvlink;
  }
  // A path that starts at a CPU passes one more than it enters.
  const bool starts_at_cpu =
      !path.links.empty() &&
      system.node(system.link(path.links.front()).from).kind == NodeKind::kCpu;
  if (starts_at_cpu) ++cpus;
  if (cpus > 1) return PathType::kSystem;
  if (cpus == 1) {
    if (c2c) return pci ? PathType::kPciC2c : PathType::kC2c;
    if (nvlink && !pci) return PathType::kNvlink;
    return PathType::kHostBridge;
  }
  if (nvlink) return PathType::kNvlink;
  if (!pci) return PathType::kLocal;
  return switches > 1 ? PathType::kPciSwitches : PathType::kPciSwitch;
}

/// GPU to GPU over NVLink through the device of a third: the widest, then the first.
Path bridge(const std::vector<Path>& near, NodeId target, const std::vector<std::vector<Path>>& far,
            const std::vector<NodeId>& devices) {
  Path best;
  for (std::size_t index = 0; index < devices.size(); ++index) {
    const NodeId device = devices[index];
    const Path& first = near[static_cast<std::size_t>(device)];
    const Path& second = far[index][static_cast<std::size_t>(target)];
    if (first.links.empty() || second.links.empty()) continue;
    const double gbps = std::min(first.gbps, second.gbps);
    if (best.exists() && gbps <= best.gbps) continue;
    best = concatenate(first, second, PathType::kNvlinkBridge);
    best.through = device;
  }
  return best;
}

}  // namespace

Path concatenate(const Path& first, const Path& second, PathType least) {
  Path path{.type = std::max({first.type, second.type, least}),
            .gbps = std::min(first.gbps, second.gbps),
            .links = first.links,
            .through = first.through};
  path.links.insert(path.links.end(), second.links.begin(), second.links.end());
  return path;
}

std::vector<Path> paths_from(const System& system, NodeId source, bool nvlink_bridge) {
  const auto over_nvlink = [&](const Link& link) {
    return link.kind == LinkKind::kNvlink || link.kind == LinkKind::kLocal;
  };
  const auto inside_host = [&](const Link& link) { return link.kind != LinkKind::kNvlink; };
  std::vector<Path> best = widest_shortest(system, source, inside_host);
  for (Path& path : best) {
    if (path.type == PathType::kLocal) path.type = type_of(system, path);
  }
  if (system.node(source).kind != NodeKind::kGpu) return best;

  const std::vector<Path> near = widest_shortest(system, source, over_nvlink);
  std::vector<NodeId> devices;
  std::vector<std::vector<Path>> far;
  for (NodeId node = 0; node < system.node_count(); ++node) {
    const auto index = static_cast<std::size_t>(node);
    if (node == source || near[index].links.empty()) continue;
    const PathType type = type_of(system, near[index]);
    if (type != PathType::kNvlink) continue;
    best[index] = near[index];
    best[index].type = type;
  }
  const bool wants_bridge =
      nvlink_bridge && std::any_of(system.gpus().begin(), system.gpus().end(), [&](NodeId gpu) {
        return gpu != source && best[static_cast<std::size_t>(gpu)].type > PathType::kNvlinkBridge;
      });
  if (!wants_bridge) return best;
  for (NodeId node = 0; node < system.node_count(); ++node) {
    const Path& path = near[static_cast<std::size_t>(node)];
    if (system.node(node).kind != NodeKind::kDevice || path.links.size() < 2) continue;
    devices.push_back(node);
    far.push_back(widest_shortest(system, node, over_nvlink));
  }
  for (const NodeId gpu : system.gpus()) {
    Path& path = best[static_cast<std::size_t>(gpu)];
    if (gpu == source || path.type <= PathType::kNvlinkBridge) continue;
    if (Path over = bridge(near, gpu, far, devices); over.exists()) path = std::move(over);
  }
  return best;
}

}  // namespace ripieno::topo

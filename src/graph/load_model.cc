#include "graph/load_model.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ripieno::graph {
namespace {

using topo::LinkKind;
using topo::NodeKind;
using topo::Path;
using topo::PathType;

bool passes_intel_cpu(const topo::System& system, const Path& path) {
  return std::any_of(path.links.begin(), path.links.end(), [&](topo::LinkId id) {
    const topo::Node& end = system.node(system.link(id).to);
    return end.kind == NodeKind::kCpu && end.cpu.arch == topo::CpuArch::kX86 &&
           end.cpu.vendor == topo::CpuVendor::kIntel;
  });
}

}  // namespace

LoadModel::LoadModel(const topo::PathTable& paths)
    : paths_(&paths), gpus_(paths.gpu_count()), nets_(paths.net_count()) {
  number_links();
  hops_.reserve(at(gpus_, gpus_, 0));
  for (int from = 0; from < gpus_; ++from) {
    for (int to = 0; to < gpus_; ++to) hops_.push_back(route(paths.gpu_to_gpu(from, to), true));
  }
  for (int net = 0; net < nets_; ++net) {
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      enters_.push_back(route(paths.net_to_gpu(net, gpu), false));
    }
  }
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    for (int net = 0; net < nets_; ++net)
      leaves_.push_back(route(paths.gpu_to_net(gpu, net), true));
  }
  capability_ = gpus_ == 0 ? 0 : 1 << 20;
  for (const topo::NodeId gpu : paths.system().gpus()) {
    capability_ = std::min(capability_, paths.system().node(gpu).gpu.compute_capability);
  }
  order_near();
}

void LoadModel::number_links() {
  const topo::System& system = paths_->system();
  std::map<std::tuple<int, int, bool>, int> wires;
  for (topo::LinkId id = 0; id < system.link_count(); ++id) {
    const topo::Link& link = system.link(id);
    const auto fresh = static_cast<int>(capacity_.size());
    int resource = fresh;
    if (link.kind == LinkKind::kNet) {
      const bool out = system.node(link.to).kind == NodeKind::kNet;
      const topo::Node& net = system.node(out ? link.to : link.from);
      resource = wires.insert({{net.host, net.net.port_group, out}, fresh}).first->second;
    }
    if (resource == fresh) {
      capacity_.push_back(link.gbps);
      ends_.emplace_back(link.from, link.to);
    }
    resource_of_link_.push_back(resource);
  }
}

Route LoadModel::route(const Path& path, bool from_gpu) const {
  const topo::System& system = paths_->system();
  Route route{.type = path.type};
  const bool costly =
      from_gpu && path.type == PathType::kHostBridge && passes_intel_cpu(system, path);
  for (const topo::LinkId id : path.links) {
    const bool pci = system.link(id).kind == LinkKind::kPci;
    const double weight = costly && pci ? topo::kIntelPeerFactor : 1.0;
    const int resource = resource_of_link_[static_cast<std::size_t>(id)];
    // A route may take a link twice: up to the CPU and, by another way, past it again.
    const auto again = std::find_if(route.uses.begin(), route.uses.end(),
                                    [&](const Use& use) { return use.resource == resource; });
    if (again != route.uses.end()) {
      again->weight += weight;
    } else {
      route.uses.push_back({resource, weight});
    }
  }
  return route;
}

void LoadModel::order_near() {
  for (int net = 0; net < nets_; ++net) {
    std::vector<int> order;
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      if (enter(net, gpu).usable()) order.push_back(gpu);
    }
    const auto key = [&](int gpu) {
      return std::tuple(enter(net, gpu).type, -paths_->net_to_gpu(net, gpu).gbps,
                        paths_->nearest_net(gpu) != net, gpu);
    };
    std::sort(order.begin(), order.end(),
              [&](int one, int other) { return key(one) < key(other); });
    near_.push_back(std::move(order));
  }
}

}  // namespace ripieno::graph

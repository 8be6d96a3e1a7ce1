#include "topo/paths.h"

#include <algorithm>
#include <map>

#include "topo/verdict.h"

namespace ripieno::topo {
namespace {

using Paths = std::vector<std::vector<Path>>;

std::size_t at(NodeId id) {
  return static_cast<std::size_t>(id);
}

std::vector<Path> all_from(const System& system, NodeId node, const PathPolicy& policy) {
  return paths_from(system, node, policy.nvlink_bridge);
}

/// Nearer, then wider.
bool is_better(const Path& one, const Path& other) {
  if (one.type != other.type) return one.type < other.type;
  return one.gbps > other.gbps;
}

}  // namespace

PathTable::PathTable(const System& system, PathPolicy policy)
    : system_(&system),
      policy_(std::move(policy)),
      gpus_(static_cast<int>(system.gpus().size())),
      nets_(static_cast<int>(system.nets().size())) {
  // Index 0... of the first two: position among GPUs or networks; of the last: node id of a CPU.
  Paths from_gpu;
  Paths from_net;
  Paths from_cpu(at(system.node_count()));
  for (const NodeId gpu : system.gpus()) from_gpu.push_back(all_from(system, gpu, policy_));
  for (const NodeId net : system.nets()) from_net.push_back(all_from(system, net, policy_));
  for (const NodeId cpu : system.cpus()) from_cpu[at(cpu)] = all_from(system, cpu, policy_);
  route_gpus(from_gpu, from_cpu);
  route_nets(from_gpu, from_net, from_cpu);
  mark_slower_than_net();
  route_around(from_gpu);
  choose_nearest();
}

void PathTable::route_gpus(const Paths& from_gpu, const Paths& from_cpu) {
  const auto gpus = system_->gpus();
  gpu_gpu_.resize(index(gpus_, gpus_, 0));
  peer_.resize(gpu_gpu_.size());
  for (int from = 0; from < gpus_; ++from) {
    const NodeId source = gpus[at(from)];
    for (int to = 0; to < gpus_; ++to) {
      const NodeId target = gpus[at(to)];
      Path path = from_gpu[at(from)][at(target)];
      Verdict verdict = judge_peer_access(*system_, policy_, source, target, path);
      const NodeId cpu = system_->cpu_of(source);
      if (!verdict.allowed && path.exists() && cpu != kNoNode) {
        path = concatenate(from_gpu[at(from)][at(cpu)], from_cpu[at(cpu)][at(target)],
                           PathType::kHostBridge);
      }
      peer_[index(from, gpus_, to)] = std::move(verdict);
      gpu_gpu_[index(from, gpus_, to)] = std::move(path);
    }
  }
}

void PathTable::route_nets(const Paths& from_gpu, const Paths& from_net, const Paths& from_cpu) {
  const auto gpus = system_->gpus();
  const auto nets = system_->nets();
  gpu_net_.resize(index(gpus_, nets_, 0));
  net_gpu_.resize(gpu_net_.size());
  rdma_.resize(gpu_net_.size());
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    for (int net = 0; net < nets_; ++net) {
      const NodeId device = gpus[at(gpu)];
      const NodeId card = nets[at(net)];
      Path out = from_gpu[at(gpu)][at(card)];
      Path in = from_net[at(net)][at(device)];
      Verdict verdict = judge_direct_rdma(*system_, policy_, device, card, out);
      const NodeId cpu = system_->cpu_of(device);
      if (!verdict.allowed && out.exists() && cpu != kNoNode) {
        out = concatenate(from_gpu[at(gpu)][at(cpu)], from_cpu[at(cpu)][at(card)],
                          PathType::kHostBridge);
        in = concatenate(from_net[at(net)][at(cpu)], from_cpu[at(cpu)][at(device)],
                         PathType::kHostBridge);
      }
      rdma_[index(gpu, nets_, net)] = std::move(verdict);
      gpu_net_[index(gpu, nets_, net)] = std::move(out);
      net_gpu_[index(net, gpus_, gpu)] = std::move(in);
    }
  }
}

void PathTable::mark_slower_than_net() {
  // Without a way through memory of the host the network is the only one.
  std::vector<double> fastest(at(gpus_), 0.0);
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    for (int net = 0; net < nets_; ++net) {
      const Path& path = gpu_to_net(gpu, net);
      if (path.type > PathType::kPciSwitches) continue;
      fastest[at(gpu)] = std::max(fastest[at(gpu)], path.gbps);
    }
  }
  for (int from = 0; from < gpus_; ++from) {
    for (int to = 0; to < gpus_; ++to) {
      if (peer_access(from, to).allowed) continue;
      Path& path = gpu_gpu_[index(from, gpus_, to)];
      if (!path.exists()) continue;
      const bool faster = policy_.network_inside_host && fastest[at(from)] > path.gbps &&
                          fastest[at(to)] > path.gbps;
      if (faster || !policy_.shared_memory) path.type = PathType::kNetwork;
    }
  }
}

void PathTable::route_around(const Paths& from_gpu) {
  forwarder_.assign(at(nets_), -1);
  const PathType farthest = policy_.pxn_over_c2c ? PathType::kPciC2c : PathType::kPciSwitches;
  for (int net = 0; net < nets_; ++net) {
    int& forwarder = forwarder_[at(net)];
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      const Path& path = gpu_to_net(gpu, net);
      if (path.type > farthest) continue;
      if (forwarder < 0 || is_better(path, gpu_to_net(forwarder, net))) forwarder = gpu;
    }
    if (forwarder < 0 || !policy_.pxn) continue;
    const Path last = gpu_to_net(forwarder, net);
    const NodeId peer = system_->gpus()[at(forwarder)];
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      Path& path = gpu_net_[index(gpu, nets_, net)];
      const Path& first = from_gpu[at(gpu)][at(peer)];
      if (gpu == forwarder || path.type <= PathType::kPxn || !path.exists()) continue;
      if (first.type != PathType::kNvlink || !peer_access(gpu, forwarder).allowed) continue;
      if (system_->node(system_->gpus()[at(gpu)]).host != system_->node(peer).host) continue;
      path = concatenate(first, last, PathType::kPxn);
      path.type = PathType::kPxn;
      path.through = peer;
    }
  }
}

void PathTable::choose_nearest() {
  nearest_.assign(at(gpus_), -1);
  // GPUs that see the same set of nearest cards share it out, each the next one.
  std::map<std::vector<int>, std::size_t> users;
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    std::vector<int> best;
    for (int net = 0; net < nets_; ++net) {
      const Path& path = gpu_to_net(gpu, net);
      if (!path.exists()) continue;
      if (!best.empty() && is_better(path, gpu_to_net(gpu, best.front()))) best.clear();
      if (best.empty() || !is_better(gpu_to_net(gpu, best.front()), path)) best.push_back(net);
    }
    if (!best.empty()) nearest_[at(gpu)] = best[users[best]++ % best.size()];
  }
}

}  // namespace ripieno::topo

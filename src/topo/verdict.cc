#include "topo/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace ripieno::topo {
namespace {

std::string level_text(PathType level, const std::string& source) {
  return fmt::format("{} ({})", path_name(level), source);
}

/// Two GPUs of an AMD host that has no others talk well through the CPU.
bool is_amd_pair(const System& system, NodeId gpu) {
  const NodeId cpu = system.cpu_of(gpu);
  if (cpu == kNoNode || system.node(cpu).cpu.vendor != CpuVendor::kAmd) return false;
  const int host = system.node(gpu).host;
  return std::count_if(system.gpus().begin(), system.gpus().end(),
                       [&](NodeId other) { return system.node(other).host == host; }) <= 2;
}

}  // namespace

Verdict judge_peer_access(const System& system, const PathPolicy& policy, NodeId from, NodeId to,
                          const Path& path) {
  if (from == to || path.type == PathType::kLocal) return {true, "they share a device"};
  if (!path.exists()) return {false, "no path joins them"};
  const bool pair = !policy.peer_level && is_amd_pair(system, from);
  const PathType level =
      policy.peer_level.value_or(pair ? PathType::kSystem : PathType::kPciSwitches);
  const std::string source = pair ? "default for two GPUs on AMD" : policy.peer_source;
  if (path.type <= level) {
    return {true, fmt::format("{}: {}, within {}", path_name(path.type), path_words(path.type),
                              level_text(level, source))};
  }
  if (policy.peer_source == "NCCL_P2P_DISABLE") return {false, "NCCL_P2P_DISABLE is set"};
  return {false,
          fmt::format("{}: {}, farther than {}; data goes through host memory",
                      path_name(path.type), path_words(path.type), level_text(level, source))};
}

Verdict judge_direct_rdma(const System& system, const PathPolicy& policy, NodeId gpu, NodeId net,
                          const Path& path) {
  const Node& device = system.node(gpu);
  const NetInfo& card = system.node(net).net;
  if (!path.exists()) return {false, "no path joins them"};
  if (!card.direct_rdma) {
    return {false, fmt::format("the network {} cannot access device memory (gdr=0)", card.name)};
  }
  if (!device.gpu.direct_rdma) {
    return {false,
            fmt::format("GPU {} does not let cards access its memory (gdr=0)", device.gpu.device)};
  }
  const PathType standard = policy.rdma_over_c2c ? PathType::kPciC2c : PathType::kPciSwitches;
  const PathType level = policy.rdma_level.value_or(standard);
  // Data for a card behind other GPUs takes PXN's way; that is somebody else's verdict.
  if (path.type <= level && (path.type != PathType::kPciC2c || policy.rdma_over_c2c)) {
    return {true, fmt::format("{}: {}, within {}", path_name(path.type), path_words(path.type),
                              level_text(level, policy.rdma_source))};
  }
  if (path.type == PathType::kPciC2c && path.type <= level) {
    return {false, "the card would go over a chip-to-chip link and NCCL_NET_GDR_C2C is 0"};
  }
  return {false, fmt::format("{}: {}, farther than {}; data is staged in host memory",
                             path_name(path.type), path_words(path.type),
                             level_text(level, policy.rdma_source))};
}

}  // namespace ripieno::topo

#include "tune/inputs.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace ripieno::tune {
namespace {

using graph::Graph;
using topo::PathTable;

constexpr int kMaxChannels = 64;

Tracks tracks_of(const Graph& graph) {
  return {.pattern = graph.pattern,
          .channels = static_cast<int>(graph.channels.size()),
          .bw_intra = graph.bw_intra,
          .bw_inter = graph.bw_inter,
          .type_intra = graph.type_intra,
          .type_inter = graph.type_inter,
          .same_channels = graph.same_channels};
}

std::optional<Tracks> tracks_of(const std::optional<Graph>& graph) {
  if (!graph || graph->channels.empty()) return std::nullopt;
  return tracks_of(*graph);
}

bool all_reach_each_other(const PathTable& paths) {
  for (int from = 0; from < paths.gpu_count(); ++from) {
    for (int to = 0; to < paths.gpu_count(); ++to) {
      if (from != to && !paths.peer_access(from, to).allowed) return false;
    }
  }
  return true;
}

/// Blocks that keep an NVSwitch's reduction busy.
int nvls_channels_for(int compute_capability, int hosts) {
  if (compute_capability < 100) return 16;
  return hosts == 2 ? 32 : 24;
}

}  // namespace

int joined_channels(const Tracks& ring, int compute_capability, int hosts) noexcept {
  constexpr double kFastLink = 45.0;
  constexpr int kEnough = 16;
  int channels = 2 * ring.channels;
  if (compute_capability >= 90 && hosts > 1 && ring.bw_intra > kFastLink && channels < kEnough) {
    channels *= 2;
  }
  return std::clamp(channels, 1, kMaxChannels);
}

double exchange_gbps(const PathTable& paths) {
  const topo::System& system = paths.system();
  std::vector<double> load(static_cast<std::size_t>(system.link_count()), 0.0);
  const int gpus = paths.gpu_count();
  if (gpus < 2) return 0.0;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      for (const topo::LinkId link : paths.gpu_to_gpu(from, to).links) {
        load[static_cast<std::size_t>(link)] += 1.0 / (gpus - 1);
      }
    }
  }
  double slowest = std::numeric_limits<double>::infinity();
  for (std::size_t link = 0; link < load.size(); ++link) {
    if (load[link] > 0.0) {
      slowest = std::min(slowest, system.link(static_cast<topo::LinkId>(link)).gbps / load[link]);
    }
  }
  return slowest == std::numeric_limits<double>::infinity() ? 0.0 : slowest;
}

CostInputs inputs_of(const PathTable& paths, const graph::GraphSet& set, int hosts) {
  const topo::System& system = paths.system();
  CostInputs inputs{.ranks = hosts * paths.gpu_count(), .hosts = hosts};
  for (const topo::NodeId gpu : system.gpus()) {
    const int capability = system.node(gpu).gpu.compute_capability;
    inputs.compute_capability = inputs.compute_capability == 0
                                    ? capability
                                    : std::min(inputs.compute_capability, capability);
  }
  if (!system.cpus().empty()) inputs.cpu_vendor = system.node(system.cpus().front()).cpu.vendor;
  for (const topo::NodeId net : system.nets()) {
    inputs.net_latency_us = std::max(inputs.net_latency_us, system.node(net).net.latency_us);
    inputs.collnet = inputs.collnet || system.node(net).net.reduces;
  }
  inputs.ring = tracks_of(set.ring);
  inputs.tree = tracks_of(set.tree);
  // A channel is a ring and a tree at once.
  const int both = std::min(inputs.ring.channels, inputs.tree.channels);
  inputs.ring.channels = inputs.tree.channels = both;
  inputs.collnet_chain = tracks_of(set.collnet_chain);
  inputs.collnet_direct = tracks_of(set.collnet_direct);
  inputs.nvls = tracks_of(set.nvls);
  inputs.channels = joined_channels(inputs.ring, inputs.compute_capability, hosts);
  inputs.nvls_channels = inputs.nvls ? nvls_channels_for(inputs.compute_capability, hosts) : 0;
  inputs.direct = hosts == 1 && all_reach_each_other(paths);
  if (inputs.family() != Family::kHost) inputs.exchange_gbps = exchange_gbps(paths);
  return inputs;
}

CostInputs host_inputs(int ranks) noexcept {
  return {.ranks = ranks, .direct = true};
}

}  // namespace ripieno::tune

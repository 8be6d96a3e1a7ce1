// Whether a graph is what it claims to be, computed from the paths alone: no code of the search is
// used here.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "graph/graph.h"
#include "topo/paths.h"

namespace ripieno::graph::testing {

/// Adds what a path takes at `gbps` to the links it uses; interfaces on one wire are one link.
class LinkMeter {
 public:
  explicit LinkMeter(const topo::System& system) : system_(system) {}

  void add(const topo::Path& path, double gbps, bool from_gpu) {
    bool intel = false;
    for (const topo::LinkId id : path.links) {
      const topo::Node& end = system_.node(system_.link(id).to);
      intel =
          intel || (end.kind == topo::NodeKind::kCpu && end.cpu.vendor == topo::CpuVendor::kIntel &&
                    end.cpu.arch == topo::CpuArch::kX86);
    }
    const bool costly = from_gpu && intel && path.type == topo::PathType::kHostBridge;
    for (const topo::LinkId id : path.links) {
      const topo::Link& link = system_.link(id);
      const bool pci = link.kind == topo::LinkKind::kPci;
      taken_[wire(id)] += gbps * (costly && pci ? 1.2 : 1.0);
    }
  }

  void expect_no_link_overcommitted(const std::string& what) const {
    for (const auto& [id, gbps] : taken_) {
      const topo::Link& link = system_.link(id);
      EXPECT_LE(gbps, link.gbps * (1.0 + 1e-6) + 1e-6)
          << what << ": " << system_.label(link.from) << " -> " << system_.label(link.to);
    }
  }

 private:
  /// The first link of the same wire.
  topo::LinkId wire(topo::LinkId id) const {
    const topo::Link& link = system_.link(id);
    if (link.kind != topo::LinkKind::kNet) return id;
    const bool out = system_.node(link.to).kind == topo::NodeKind::kNet;
    const topo::Node& net = system_.node(out ? link.to : link.from);
    for (const topo::NodeId other : system_.nets()) {
      const topo::Node& node = system_.node(other);
      if (node.host != net.host || node.net.port_group != net.net.port_group) continue;
      for (const topo::LinkId first : system_.node(other).links) {
        if (system_.link(first).kind == topo::LinkKind::kNet) {
          return out ? system_.link(first).reverse : first;
        }
      }
    }
    return id;
  }

  const topo::System& system_;
  std::map<topo::LinkId, double> taken_;
};

inline bool is_walk(const Graph& graph) {
  return graph.pattern != Pattern::kNvls && graph.pattern != Pattern::kCollnetDirect;
}

inline void meter_network(LinkMeter& meter, const topo::PathTable& paths, const Graph& graph,
                          const Channel& channel) {
  const double gbps = graph.bw_inter;
  const int first = channel.gpus.front();
  const int second = channel.gpus.size() > 1 ? channel.gpus[1] : first;
  const auto in = [&](int gpu, double share) {
    meter.add(paths.net_to_gpu(channel.net_in, gpu), gbps * share, false);
  };
  const auto out = [&](int gpu, double share) {
    meter.add(paths.gpu_to_net(gpu, channel.net_out), gbps * share, true);
  };
  if (graph.pattern == Pattern::kBalancedTree) {
    in(first, 0.5);
    in(second, 0.5);
    out(first, 0.5);
    out(second, 0.5);
    return;
  }
  in(first, 1.0);
  out(graph.pattern == Pattern::kRing        ? channel.gpus.back()
      : graph.pattern == Pattern::kSplitTree ? second
                                             : first,
      1.0);
}

/// Every channel visits every GPU once, over hops that exist, and all together fit the links.
inline void expect_valid(const topo::PathTable& paths, const Graph& graph,
                         const std::string& what) {
  SCOPED_TRACE(what + " " + std::string(graph_name(graph.purpose, graph.pattern)) + " " +
               std::string(scope_name(graph.scope)));
  LinkMeter meter(paths.system());
  for (const Channel& channel : graph.channels) {
    std::vector<int> sorted = channel.gpus;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(static_cast<int>(sorted.size()), paths.gpu_count());
    for (int gpu = 0; gpu < paths.gpu_count(); ++gpu) {
      ASSERT_EQ(sorted[static_cast<std::size_t>(gpu)], gpu);
    }
    if (!is_walk(graph)) continue;
    std::vector<std::pair<int, int>> hops;
    for (std::size_t at = 0; at + 1 < channel.gpus.size(); ++at) {
      hops.emplace_back(channel.gpus[at], channel.gpus[at + 1]);
    }
    if (graph.scope == Scope::kIntra) {
      EXPECT_EQ(channel.net_in, -1);
      if (graph.pattern == Pattern::kRing && channel.gpus.size() > 1) {
        hops.emplace_back(channel.gpus.back(), channel.gpus.front());
      }
    } else {
      ASSERT_GE(channel.net_in, 0);
      ASSERT_GE(channel.net_out, 0);
      meter_network(meter, paths, graph, channel);
    }
    for (const auto& [from, to] : hops) {
      EXPECT_LE(paths.gpu_to_gpu(from, to).type, graph.type_intra);
      EXPECT_LT(paths.gpu_to_gpu(from, to).type, topo::PathType::kNetwork);
      meter.add(paths.gpu_to_gpu(from, to), graph.bw_intra, true);
    }
  }
  meter.expect_no_link_overcommitted(what);
  EXPECT_LE(graph.total(), graph.bound * (1.0 + 1e-6)) << "more than the bound allows";
}

}  // namespace ripieno::graph::testing

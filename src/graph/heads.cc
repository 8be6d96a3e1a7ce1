#include "graph/heads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "graph/plan.h"

namespace ripieno::graph {
namespace {

using topo::PathType;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool switch_reduces(const LoadModel& model) {
  if (model.gpus() < 2 || model.compute_capability() < 90) return false;
  const topo::System& system = model.paths().system();
  return std::all_of(system.gpus().begin(), system.gpus().end(),
                     [&](topo::NodeId gpu) { return system.node(gpu).gpu.on_nvswitch; });
}

struct Head {
  int gpu = -1;
  int net = -1;
};

/// A head for each wire, as near to it as possible, no GPU twice; spread if there are too many.
std::vector<Head> heads_at_nets(const LoadModel& model, int most) {
  const topo::System& system = model.paths().system();
  std::vector<int> nets;
  std::set<std::pair<int, int>> wires;
  for (int net = 0; net < model.nets(); ++net) {
    const topo::Node& node = system.node(system.nets()[at(net)]);
    if (!model.gpus_near(net).empty() && wires.insert({node.host, node.net.port_group}).second) {
      nets.push_back(net);
    }
  }
  std::vector<Head> heads;
  std::set<int> taken;
  PathType farthest = PathType::kDisconnected;
  for (const int net : nets)
    farthest = std::min(farthest, model.enter(net, model.gpus_near(net).front()).type);
  for (const int net : nets) {
    for (const int gpu : model.gpus_near(net)) {
      // A card that is far from every free GPU would only slow the other heads down.
      if (model.enter(net, gpu).type > std::max(farthest, PathType::kHostBridge)) break;
      if (!model.leave(gpu, net).usable() || !taken.insert(gpu).second) continue;
      heads.push_back({gpu, net});
      break;
    }
  }
  if (static_cast<int>(heads.size()) <= most) return heads;
  std::vector<Head> spread;
  for (int index = 0; index < most; ++index) {
    spread.push_back(heads[at(index) * heads.size() / at(most)]);
  }
  return spread;
}

std::vector<Head> heads_inside(int gpus, int most) {
  std::vector<Head> heads;
  const int count = std::min(gpus, most);
  for (int index = 0; index < count; ++index) {
    heads.push_back({.gpu = static_cast<int>(at(index) * at(gpus) / at(count))});
  }
  return heads;
}

Channel channel_of(const Head& head, int gpus) {
  Channel channel{.gpus = {head.gpu}, .net_in = head.net, .net_out = head.net};
  for (int step = 1; step < gpus; ++step) channel.gpus.push_back((head.gpu + step) % gpus);
  return channel;
}

/// The least bandwidth between a GPU and the switch, in either direction.
double to_switch(const LoadModel& model) {
  const topo::System& system = model.paths().system();
  double least = std::numeric_limits<double>::infinity();
  for (const topo::NodeId gpu : system.gpus()) {
    for (const topo::LinkId id : system.node(system.node(gpu).parent).links) {
      const topo::Link& link = system.link(id);
      if (system.node(link.to).kind == topo::NodeKind::kNvSwitch) {
        least = std::min(least, link.gbps);
      }
    }
  }
  return least;
}

/// The network's speed of all heads together, nothing else going on.
double network_speed(const LoadModel& model, const std::vector<Head>& heads, Loads& loads,
                     PathType& farthest) {
  for (const Head& head : heads) {
    const Route& in = model.enter(head.net, head.gpu);
    const Route& out = model.leave(head.gpu, head.net);
    loads.add({{&in, 1.0, true}, {&out, 1.0, true}}, 1.0);
    farthest = std::max({farthest, in.type, out.type});
  }
  return loads.fastest_equal();
}

/// Mean speed of a head that serves its peers one after the other, while the network takes its
/// part: the harmonic mean over peers, the worst direction and head.
double exchange_speed(const LoadModel& model, const std::vector<Head>& heads, const Loads& loads,
                      double inter) {
  double worst = std::numeric_limits<double>::infinity();
  for (const Head& head : heads) {
    for (const bool inwards : {true, false}) {
      double time = 0.0;
      for (int peer = 0; peer < model.gpus(); ++peer) {
        if (peer == head.gpu) continue;
        const Route& hop = inwards ? model.hop(peer, head.gpu) : model.hop(head.gpu, peer);
        Loads with = loads;
        with.add({{&hop, 1.0, false}}, 1.0);
        time += 1.0 / std::max(with.fastest_intra(inter), 1e-9);
      }
      if (time > 0.0) worst = std::min(worst, (model.gpus() - 1) / time);
    }
  }
  return worst;
}

}  // namespace

std::optional<Graph> nvls_graph(const LoadModel& model, Scope scope, int most_channels) {
  if (!switch_reduces(model)) return std::nullopt;
  const bool inter = scope == Scope::kInter;
  const std::vector<Head> heads =
      inter ? heads_at_nets(model, most_channels) : heads_inside(model.gpus(), most_channels);
  if (heads.empty()) return std::nullopt;
  Graph graph{.purpose = Purpose::kNvls, .pattern = Pattern::kNvls, .scope = scope};
  graph.type_intra = PathType::kNvlink;
  // Per unit of a channel every GPU sends once and receives once; its head does so twice. With
  // equal shares a GPU moves all of the total and, at a head, its own share again.
  const auto count = static_cast<double>(heads.size());
  const double wire = to_switch(model);
  const Ceilings ceilings = ceilings_for(model.compute_capability(), Pattern::kNvls, scope);
  double most = ceilings.intra;
  if (inter) {
    Loads loads(model);
    graph.bw_inter = std::min(network_speed(model, heads, loads, graph.type_inter), ceilings.inter);
    most = std::min(most, 2.0 * graph.bw_inter);
  }
  const double alone = wire / (count + 1.0);
  const int rounds = inter ? 1
                           : std::clamp(static_cast<int>(std::ceil(alone / most - 1e-9)), 1,
                                        std::max(most_channels / static_cast<int>(count), 1));
  graph.bw_intra = std::min(alone / rounds, most);
  if (!inter) graph.bw_inter = graph.bw_intra;
  for (int round = 0; round < rounds; ++round) {
    for (const Head& head : heads) graph.channels.push_back(channel_of(head, model.gpus()));
  }
  graph.bound = wire * model.gpus() / (model.gpus() + 1.0);
  if (inter) graph.bound = std::min(graph.bound, 2.0 * graph.bw_inter * count);
  graph.steps = static_cast<std::int64_t>(graph.channels.size());
  return graph;
}

std::optional<Graph> collnet_direct_graph(const LoadModel& model, int most_heads) {
  const std::vector<Head> heads = heads_at_nets(model, most_heads);
  if (heads.empty()) return std::nullopt;
  Graph graph{.purpose = Purpose::kCollnetDirect,
              .pattern = Pattern::kCollnetDirect,
              .scope = Scope::kInter};
  const Ceilings ceilings = ceilings_for(model.compute_capability(), Pattern::kTree, Scope::kInter);
  Loads loads(model);
  const double alone = network_speed(model, heads, loads, graph.type_inter);
  graph.bw_inter = std::min(alone, ceilings.inter);
  for (const Head& head : heads) {
    graph.channels.push_back(channel_of(head, model.gpus()));
    for (int peer = 0; peer < model.gpus(); ++peer) {
      if (peer == head.gpu) continue;
      const PathType type = model.hop(peer, head.gpu).type;
      if (type >= PathType::kNetwork) continue;
      graph.type_intra = std::max(graph.type_intra, type);
    }
  }
  if (model.gpus() > 1 && exchange_speed(model, heads, loads, graph.bw_inter) < graph.bw_inter) {
    // Network and peers share links: as fast as both can be alike.
    double low = 0.0;
    double high = graph.bw_inter;
    for (int halving = 0; halving < 40; ++halving) {
      const double middle = (low + high) / 2.0;
      (exchange_speed(model, heads, loads, middle) >= middle ? low : high) = middle;
    }
    graph.bw_inter = low;
  }
  graph.bw_intra = std::min(
      {exchange_speed(model, heads, loads, graph.bw_inter), 2.0 * graph.bw_inter, ceilings.intra});
  graph.bound = 2.0 * std::min(alone, ceilings.inter) * static_cast<double>(heads.size());
  graph.same_channels = true;
  graph.steps = static_cast<std::int64_t>(heads.size());
  return graph;
}

}  // namespace ripieno::graph

#include "graph/bound.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "graph/max_flow.h"
#include "graph/plan.h"

namespace ripieno::graph {
namespace {

using topo::PathType;
constexpr double kWide = 1e12;

/// The part of the machine that allowed routes touch.
class FlowNetwork {
 public:
  FlowNetwork(const LoadModel& model, PathType farthest_intra, PathType farthest_inter)
      : model_(model),
        gpus_(model.paths().system().gpus()),
        nodes_(model.paths().system().node_count()),
        inside_(nodes_ + 3),
        whole_(nodes_ + 3 + 2 * model.nets()) {
    for (int from = 0; from < model.gpus(); ++from) {
      for (int to = 0; to < model.gpus(); ++to) {
        if (from != to) take(model.hop(from, to), farthest_intra, hops_);
      }
      for (int net = 0; net < model.nets(); ++net) {
        take(model.leave(from, net), farthest_inter, network_);
        take(model.enter(net, from), farthest_inter, network_);
      }
    }
    for (const int resource : hops_) arc(inside_, resource);
    network_.insert(hops_.begin(), hops_.end());
    for (const int resource : network_) arc(whole_, resource);
    add_wires();
  }

  double between(int from, int to) { return inside_.run(node(from), node(to)); }
  double from_network(int gpu) { return whole_.run(source(), node(gpu)); }
  double to_network(int gpu) { return whole_.run(node(gpu), sink()); }
  /// What the links out of a GPU's device carry, each.
  [[nodiscard]] std::vector<double> links_out_of(int gpu) const {
    std::vector<double> links;
    const topo::System& system = model_.paths().system();
    const topo::NodeId device = system.node(node(gpu)).parent;
    for (const int resource : hops_) {
      if (model_.from(resource) != device) continue;
      if (system.node(model_.to(resource)).kind == topo::NodeKind::kGpu) continue;
      links.push_back(model_.capacity(resource));
    }
    return links;
  }
  /// Whether some hop stays on its device and takes no link.
  [[nodiscard]] bool shares_devices() const {
    std::set<topo::NodeId> devices;
    for (const topo::NodeId gpu : gpus_) {
      if (!devices.insert(model_.paths().system().node(gpu).parent).second) return true;
    }
    return false;
  }
  /// All that the cards bring in at once.
  double network_total() {
    for (const topo::NodeId gpu : gpus_) whole_.add_arc(gpu, collect(), kWide);
    return whole_.run(source(), collect());
  }

 private:
  static void take(const Route& route, PathType farthest, std::set<int>& into) {
    if (!route.usable() || route.type > farthest) return;
    for (const Use& use : route.uses) into.insert(use.resource);
  }
  /// Everything beyond the cards: interfaces on the same wire get no more than it carries.
  void add_wires() {
    const topo::System& system = model_.paths().system();
    std::map<int, int> node_of_wire;
    const auto wire = [&](int resource) {
      const auto fresh = collect() + 1 + static_cast<int>(node_of_wire.size());
      const auto [entry, first] = node_of_wire.insert({resource, fresh});
      return std::pair(entry->second, first);
    };
    for (const topo::NodeId net : system.nets()) {
      for (const topo::LinkId id : system.node(net).links) {
        const topo::Link& link = system.link(id);
        const int in = model_.resource_of(id);
        const int out = model_.resource_of(link.reverse);
        const auto [entry, first_in] = wire(in);
        const auto [exit, first_out] = wire(out);
        if (first_in) whole_.add_arc(source(), entry, model_.capacity(in));
        if (first_out) whole_.add_arc(exit, sink(), model_.capacity(out));
        whole_.add_arc(entry, link.to, kWide);
        whole_.add_arc(link.to, exit, kWide);
      }
    }
  }
  void arc(MaxFlow& flow, int resource) {
    if (is_wire(resource)) return;
    flow.add_arc(model_.from(resource), model_.to(resource), model_.capacity(resource));
  }
  [[nodiscard]] bool is_wire(int resource) const {
    const topo::System& system = model_.paths().system();
    return system.node(model_.from(resource)).kind == topo::NodeKind::kNet ||
           system.node(model_.to(resource)).kind == topo::NodeKind::kNet;
  }
  [[nodiscard]] int node(int gpu) const { return gpus_[static_cast<std::size_t>(gpu)]; }
  [[nodiscard]] int source() const { return nodes_; }
  [[nodiscard]] int sink() const { return nodes_ + 1; }
  [[nodiscard]] int collect() const { return nodes_ + 2; }

  const LoadModel& model_;
  std::span<const topo::NodeId> gpus_;
  int nodes_;
  MaxFlow inside_;
  MaxFlow whole_;
  std::set<int> hops_;
  std::set<int> network_;
};

/// How many channels of this speed fit side by side.
int fitting(double capacity, double speed) {
  return static_cast<int>(std::min(capacity / speed + 1e-9, 1e6));
}

/// What is known about a machine, and whether a number of channels of a speed may fit it.
class Fit {
 public:
  Fit(FlowNetwork& network, const LoadModel& model, bool closed) : closed_(closed) {
    // Every cut separates the first GPU from some other.
    for (int gpu = 1; gpu < model.gpus(); ++gpu) {
      pairs_.push_back({network.between(0, gpu), network.between(gpu, 0)});
    }
    if (network.shares_devices()) return;
    for (int gpu = 0; gpu < model.gpus(); ++gpu) outs_.push_back(network.links_out_of(gpu));
  }

  /// A flow that every channel is part of: to or from the network.
  void require(double flow) { flows_.push_back(flow); }

  [[nodiscard]] bool may_hold(int channels, double speed) const {
    // A closed ring passes a cut both ways; an open walk at least once, one way or the other.
    for (const Pair& pair : pairs_) {
      const int there = fitting(pair.there, speed);
      const int back = fitting(pair.back, speed);
      if ((closed_ ? std::min(there, back) : there + back) < channels) return false;
    }
    for (const double flow : flows_) {
      if (fitting(flow, speed) < channels) return false;
    }
    // A GPU sends on in every channel but those that end with it, and every channel ends once.
    std::int64_t ends = 0;
    for (const std::vector<double>& links : outs_) {
      int sends = 0;
      for (const double link : links) sends += fitting(link, speed);
      ends += std::max(channels - sends, 0);
      if (closed_ && sends < channels) return false;
    }
    return outs_.size() < 2 || ends <= channels;
  }

  /// The highest speed that may fit: one at which some link or cut is just full.
  [[nodiscard]] double fastest(int channels, double ceiling) const {
    std::set<double> capacities(flows_.begin(), flows_.end());
    for (const Pair& pair : pairs_) capacities.insert({pair.there, pair.back});
    for (const std::vector<double>& links : outs_) capacities.insert(links.begin(), links.end());
    std::vector<double> speeds = {ceiling};
    for (const double capacity : capacities) {
      for (int share = 1; share <= channels; ++share) {
        if (capacity > 0.0 && capacity / share < ceiling) speeds.push_back(capacity / share);
      }
    }
    std::sort(speeds.begin(), speeds.end());
    const auto above = std::partition_point(
        speeds.begin(), speeds.end(), [&](double speed) { return may_hold(channels, speed); });
    return above == speeds.begin() ? 0.0 : *(above - 1);
  }

  /// The most that any number of channels in the range may carry together.
  [[nodiscard]] double most(const BoundRequest& request, double ceiling) const {
    double best = 0.0;
    for (int channels = request.least_channels; channels <= request.most_channels; ++channels) {
      best = std::max(best, channels * fastest(channels, ceiling));
    }
    return best;
  }

 private:
  struct Pair {
    double there = 0.0;
    double back = 0.0;
  };
  bool closed_;
  std::vector<Pair> pairs_;
  std::vector<double> flows_;
  std::vector<std::vector<double>> outs_;
};

}  // namespace

Bounds bounds_of(const LoadModel& model, const BoundRequest& request) {
  const Ceilings ceilings =
      ceilings_for(model.compute_capability(), request.pattern, request.scope);
  FlowNetwork network(model, request.intra, request.inter);
  const bool ring = request.pattern == Pattern::kRing;
  Fit fit(network, model, ring && request.scope == Scope::kIntra);
  if (request.scope == Scope::kIntra) {
    const double most = fit.most(request, ceilings.intra);
    return {.inter = most, .intra = most};
  }
  if (ring) {
    for (int gpu = 0; gpu < model.gpus(); ++gpu) {
      fit.require(network.from_network(gpu));
      fit.require(network.to_network(gpu));
    }
    const double most = fit.most(request, ceilings.inter);
    return {.inter = most, .intra = most};
  }
  const double inside = fit.most(request, ceilings.intra);
  const double outside =
      std::min({inside, ceilings.inter * request.most_channels, network.network_total()});
  return {.inter = outside, .intra = std::min(inside, 2.0 * outside)};
}

}  // namespace ripieno::graph

#include "graph/greedy.h"

#include <algorithm>
#include <tuple>

namespace ripieno::graph {
namespace {

// Ends beyond these are farther away or more of the same.
constexpr std::size_t kEndsTried = 4;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// `first`, then all others in cyclic order from there, without `last`, which closes if it is one.
std::vector<int> cyclic_walk(int gpus, int first, bool forwards, int second, int last) {
  std::vector<int> walk = {first};
  if (second >= 0) walk.push_back(second);
  for (int step = 1; step < gpus; ++step) {
    const int gpu = (first + (forwards ? step : gpus - step)) % gpus;
    if (gpu != second && gpu != last) walk.push_back(gpu);
  }
  if (last >= 0) walk.push_back(last);
  return walk;
}

class Builder {
 public:
  Builder(const LoadModel& model, Pattern pattern, Scope scope, int channels, const Limits& limits)
      : model_(model),
        pattern_(pattern),
        scope_(scope),
        count_(channels),
        limits_(limits),
        loads_(model),
        entries_(at(model.gpus()), 0),
        exits_(at(model.gpus()), 0) {}

  Plan build() {
    for (int channel = 0; channel < count_; ++channel) {
      best_ = {};
      if (scope_ == Scope::kIntra) {
        try_inside();
      } else {
        for (const auto& [in, out] : net_choices(model_, channels_, count_, limits_.cross_nic)) {
          try_between(in, out);
          if (!best_.gpus.empty()) break;
        }
      }
      if (best_.gpus.empty()) return Plan{.pattern = pattern_};
      loads_.add(pieces_of(model_, pattern_, scope_, best_), 1.0);
      ++entries_[at(best_.gpus.front())];
      ++exits_[at(best_.gpus.back())];
      channels_.push_back(best_);
    }
    return make_plan(model_, pattern_, scope_, std::move(channels_));
  }

 private:
  void try_inside() {
    const int starts = pattern_ == Pattern::kRing ? 1 : model_.gpus();
    for (int start = 0; start < starts; ++start) {
      for (const bool forwards : {true, false}) {
        consider({.gpus = cyclic_walk(model_.gpus(), start, forwards, -1, -1)});
      }
    }
  }

  void try_between(int in, int out) {
    std::size_t tried = 0;
    for (const int first : entries_of(in)) {
      if (tried++ == kEndsTried) break;
      if (model_.gpus() == 1) {
        consider({.gpus = {first}, .net_in = in, .net_out = out});
        continue;
      }
      for (const int other : partners_of(first, out)) {
        for (const bool forwards : {true, false}) {
          const bool ring = pattern_ == Pattern::kRing;
          consider({.gpus = cyclic_walk(model_.gpus(), first, forwards, ring ? -1 : other,
                                        ring ? other : -1),
                    .net_in = in,
                    .net_out = out});
        }
      }
    }
  }

  std::vector<int> entries_of(int net) const {
    std::vector<int> gpus;
    for (const int gpu : model_.gpus_near(net)) {
      if (model_.enter(net, gpu).type <= limits_.inter) gpus.push_back(gpu);
    }
    const auto key = [&](int gpu) {
      return std::tuple(model_.enter(net, gpu).type, entries_[at(gpu)]);
    };
    std::stable_sort(gpus.begin(), gpus.end(),
                     [&](int one, int other) { return key(one) < key(other); });
    return gpus;
  }

  /// The other GPU that talks to the network: a ring's last, a balanced or split tree's second. Of
  /// a plain tree, any neighbour.
  std::vector<int> partners_of(int first, int net) const {
    if (pattern_ == Pattern::kTree) return {-1};
    std::vector<int> gpus;
    for (int step = 1; step < model_.gpus(); ++step) {
      const int gpu = (first + model_.gpus() - step) % model_.gpus();
      if (model_.leave(gpu, net).type <= limits_.inter) gpus.push_back(gpu);
    }
    const auto key = [&](int gpu) {
      return std::tuple(model_.leave(gpu, net).type, exits_[at(gpu)]);
    };
    std::stable_sort(gpus.begin(), gpus.end(),
                     [&](int one, int other) { return key(one) < key(other); });
    if (gpus.size() > kEndsTried) gpus.resize(kEndsTried);
    return gpus;
  }

  bool is_allowed(const std::vector<Piece>& pieces) const {
    return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      return piece.route->usable() &&
             piece.route->type <= (piece.inter ? limits_.inter : limits_.intra);
    });
  }

  void consider(Channel channel) {
    const std::vector<Piece> pieces = pieces_of(model_, pattern_, scope_, channel);
    if (!is_allowed(pieces)) return;
    loads_.add(pieces, 1.0);
    const Loads::Pressure pressure = loads_.pressure(pieces);
    loads_.add(pieces, -1.0);
    if (!best_.gpus.empty() && !(pressure < best_pressure_)) return;
    best_ = std::move(channel);
    best_pressure_ = pressure;
  }

  const LoadModel& model_;
  Pattern pattern_;
  Scope scope_;
  int count_;
  Limits limits_;
  Loads loads_;
  std::vector<int> entries_;
  std::vector<int> exits_;
  std::vector<Channel> channels_;
  Channel best_;
  Loads::Pressure best_pressure_;
};

}  // namespace

std::vector<std::pair<int, int>> net_choices(const LoadModel& model,
                                             const std::vector<Channel>& before, int channels,
                                             bool cross_nic) {
  const auto number = static_cast<int>(before.size());
  if (cross_nic && number % 2 == 1) return {{before.back().net_out, before.back().net_in}};
  const topo::System& system = model.paths().system();
  const auto port = [&](int net) {
    const topo::Node& node = system.node(system.nets()[at(net)]);
    return std::pair(node.host, node.net.port_group);
  };
  // Least used wire first, then, to spread few channels over many cards, the one due at this point.
  std::vector<int> uses(at(model.nets()), 0);
  for (int net = 0; net < model.nets(); ++net) {
    for (const Channel& channel : before) {
      uses[at(net)] += (port(channel.net_in) == port(net) ? 1 : 0) +
                       (port(channel.net_out) == port(net) ? 1 : 0);
    }
  }
  const int due = channels < model.nets() ? number * model.nets() / channels : 0;
  std::vector<int> order;
  for (int net = 0; net < model.nets(); ++net) {
    if (!model.gpus_near(net).empty()) order.push_back(net);
  }
  std::stable_sort(order.begin(), order.end(), [&](int one, int other) {
    return std::tuple(uses[at(one)], one < due) < std::tuple(uses[at(other)], other < due);
  });
  std::vector<std::pair<int, int>> choices;
  const bool pair = cross_nic && number + 1 < channels;
  for (const int in : order) {
    if (!pair) {
      choices.emplace_back(in, in);
      continue;
    }
    for (const int out : order) {
      if (port(out) != port(in) && port(out).first == port(in).first) choices.emplace_back(in, out);
    }
  }
  return choices;
}

Plan greedy_plan(const LoadModel& model, Pattern pattern, Scope scope, int channels,
                 const Limits& limits) {
  return Builder(model, pattern, scope, channels, limits).build();
}

}  // namespace ripieno::graph

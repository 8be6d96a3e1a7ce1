#include "graph/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace ripieno::graph {
namespace {

using topo::PathType;

bool is_chain(Pattern pattern) {
  return pattern == Pattern::kTree || pattern == Pattern::kBalancedTree ||
         pattern == Pattern::kSplitTree;
}

/// Less than a thousandth is no difference worth another shape; a number of channels farther from
/// the preferred one must gain a tenth.
int compare_bandwidth(double one, double other, int farther) {
  constexpr double kAnyGain = 1.001;
  constexpr double kCountGain = 1.1;
  if (one > other * (farther > 0 ? kCountGain : kAnyGain)) return 1;
  if (other > one * (farther < 0 ? kCountGain : kAnyGain)) return -1;
  return 0;
}

void add_network_pieces(const LoadModel& model, Pattern pattern, const Channel& channel,
                        std::vector<Piece>& pieces) {
  const int first = channel.gpus.front();
  const auto enter = [&](int gpu, double share) {
    pieces.push_back({&model.enter(channel.net_in, gpu), share, true});
  };
  const auto leave = [&](int gpu, double share) {
    pieces.push_back({&model.leave(gpu, channel.net_out), share, true});
  };
  if (pattern == Pattern::kRing) {
    enter(first, 1.0);
    leave(channel.gpus.back(), 1.0);
    return;
  }
  const int second = channel.gpus.size() > 1 ? channel.gpus[1] : first;
  if (pattern == Pattern::kBalancedTree) {
    // A parent and two children, in both directions: half of it is the second GPU's.
    for (const int gpu : {first, second}) {
      enter(gpu, 0.5);
      leave(gpu, 0.5);
    }
    return;
  }
  enter(first, 1.0);
  leave(pattern == Pattern::kSplitTree ? second : first, 1.0);
}

}  // namespace

Ceilings ceilings_for(int compute_capability, Pattern pattern, Scope scope) {
  Ceilings ceilings{.intra = 40.0, .inter = 48.0, .comfortable = 20.0};
  if (compute_capability >= 90) ceilings = {.intra = 60.0, .inter = 48.0, .comfortable = 30.0};
  if (compute_capability >= 100) ceilings = {.intra = 90.0, .inter = 96.0, .comfortable = 45.0};
  if (scope == Scope::kInter && is_chain(pattern)) {
    ceilings.intra = std::max(ceilings.intra, 2.0 * ceilings.inter);
  }
  return ceilings;
}

std::vector<Piece> pieces_of(const LoadModel& model, Pattern pattern, Scope scope,
                             const Channel& channel) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at + 1 < channel.gpus.size(); ++at) {
    pieces.push_back({&model.hop(channel.gpus[at], channel.gpus[at + 1]), 1.0, false});
  }
  if (scope == Scope::kInter) {
    add_network_pieces(model, pattern, channel, pieces);
  } else if (pattern == Pattern::kRing && channel.gpus.size() > 1) {
    pieces.push_back({&model.hop(channel.gpus.back(), channel.gpus.front()), 1.0, false});
  }
  return pieces;
}

void Loads::add(const std::vector<Piece>& pieces, double factor) {
  for (const Piece& piece : pieces) {
    std::vector<double>& loads = piece.inter ? inter_ : intra_;
    for (const Use& use : piece.route->uses) {
      loads[static_cast<std::size_t>(use.resource)] += factor * piece.share * use.weight;
    }
  }
}

Loads::Pressure Loads::pressure(const std::vector<Piece>& pieces) const {
  Pressure pressure;
  for (const Piece& piece : pieces) {
    for (const Use& use : piece.route->uses) {
      const auto at = static_cast<std::size_t>(use.resource);
      const double part = (intra_[at] + inter_[at]) / model_->capacity(use.resource);
      pressure.peak = std::max(pressure.peak, part);
      pressure.squares += part * part;
    }
  }
  return pressure;
}

double Loads::fastest_equal() const {
  double fastest = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at < intra_.size(); ++at) {
    const double load = intra_[at] + inter_[at];
    if (load > 1e-9) fastest = std::min(fastest, model_->capacity(static_cast<int>(at)) / load);
  }
  return fastest;
}

double Loads::fastest_intra(double inter) const {
  double fastest = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at < intra_.size(); ++at) {
    if (intra_[at] <= 1e-9) continue;
    const double left = model_->capacity(static_cast<int>(at)) - inter * inter_[at];
    fastest = std::min(fastest, std::max(left, 0.0) / intra_[at]);
  }
  return fastest;
}

Plan make_plan(const LoadModel& model, Pattern pattern, Scope scope,
               std::vector<Channel> channels) {
  Plan plan{.pattern = pattern, .channels = std::move(channels)};
  Loads loads(model);
  for (const Channel& channel : plan.channels) {
    const std::vector<Piece> pieces = pieces_of(model, pattern, scope, channel);
    for (const Piece& piece : pieces) {
      PathType& type = piece.inter ? plan.type_inter : plan.type_intra;
      type = std::max(type, piece.route->type);
      if (!piece.route->usable()) return Plan{.pattern = pattern};
    }
    loads.add(pieces, 1.0);
    plan.crosses = plan.crosses || channel.net_in != channel.net_out;
  }
  const Ceilings ceilings = ceilings_for(model.compute_capability(), pattern, scope);
  if (scope == Scope::kIntra) {
    plan.bw_intra = std::min(loads.fastest_equal(), ceilings.intra);
    plan.bw_inter = plan.bw_intra;
    return plan;
  }
  plan.bw_inter = std::min(loads.fastest_equal(), ceilings.inter);
  plan.bw_intra = plan.bw_inter;
  if (is_chain(pattern)) {
    plan.bw_intra =
        std::min({loads.fastest_intra(plan.bw_inter), 2.0 * plan.bw_inter, ceilings.intra});
    plan.bw_intra = std::max(plan.bw_intra, plan.bw_inter);
  }
  return plan;
}

bool is_better(const Plan& one, const Plan& other, int preferred, bool crossing_matters) {
  if (other.channels.empty() || one.channels.empty()) return !one.channels.empty();
  const int farther = std::abs(static_cast<int>(one.channels.size()) - preferred) -
                      std::abs(static_cast<int>(other.channels.size()) - preferred);
  const int outside = compare_bandwidth(one.total_inter(), other.total_inter(), farther);
  if (outside != 0) return outside > 0;
  const int inside = compare_bandwidth(one.total_intra(), other.total_intra(), farther);
  if (inside != 0) return inside > 0;
  if (crossing_matters && one.crosses != other.crosses) return other.crosses;
  if (one.type_inter != other.type_inter) return one.type_inter < other.type_inter;
  if (one.type_intra != other.type_intra) return one.type_intra < other.type_intra;
  return farther < 0;
}

}  // namespace ripieno::graph

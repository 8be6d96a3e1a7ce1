#include "graph/walk_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>

#include "graph/backtrack.h"
#include "graph/greedy.h"

namespace ripieno::graph {
namespace {

using topo::PathType;

// In extensions of a walk of eight GPUs; longer walks cost more per step and get fewer.
constexpr std::int64_t kStepsPerAttempt = 10'000;
constexpr std::int64_t kStepsInAll = 40'000;
constexpr std::size_t kSpeedsTried = 64;

std::vector<PathType> types_of_hops(const LoadModel& model) {
  std::set<PathType> types;
  for (int from = 0; from < model.gpus(); ++from) {
    for (int to = 0; to < model.gpus(); ++to) {
      if (from != to && model.hop(from, to).usable()) types.insert(model.hop(from, to).type);
    }
  }
  if (model.gpus() == 1) types.insert(PathType::kLocal);
  return {types.begin(), types.end()};
}

std::vector<PathType> types_of_ends(const LoadModel& model) {
  std::set<PathType> types;
  for (int gpu = 0; gpu < model.gpus(); ++gpu) {
    for (int net = 0; net < model.nets(); ++net) {
      if (model.leave(gpu, net).usable()) types.insert(model.leave(gpu, net).type);
      if (model.enter(net, gpu).usable()) types.insert(model.enter(net, gpu).type);
    }
  }
  return {types.begin(), types.end()};
}

/// Whether hops of this type and nearer join all GPUs.
bool joins_all(const LoadModel& model, PathType farthest) {
  std::vector<int> reached = {0};
  std::vector<bool> seen(static_cast<std::size_t>(model.gpus()), false);
  seen[0] = true;
  for (std::size_t head = 0; head < reached.size(); ++head) {
    for (int gpu = 0; gpu < model.gpus(); ++gpu) {
      const Route& hop = model.hop(reached[head], gpu);
      if (seen[static_cast<std::size_t>(gpu)] || !hop.usable() || hop.type > farthest) continue;
      seen[static_cast<std::size_t>(gpu)] = true;
      reached.push_back(gpu);
    }
  }
  return static_cast<int>(reached.size()) == model.gpus();
}

class WalkSearch {
 public:
  WalkSearch(const LoadModel& model, const WalkRequest& request, PathType intra)
      : model_(model), request_(request), intra_(intra), ends_(types_of_ends(model)) {
    const PathType widest = ends_.empty() ? PathType::kLocal : ends_.back();
    result_.bounds = bounds_of(model, {.pattern = request.pattern,
                                       .scope = request.scope,
                                       .intra = intra,
                                       .inter = widest,
                                       .least_channels = request.least_channels,
                                       .most_channels = request.most_channels});
    budget_ = kStepsInAll * 8 / std::max(model.gpus(), 8);
    preferred_ = preferred();
    counts_ = channel_counts();
  }

  WalkResult run() {
    // The preferred number of channels first, by all means; others only if it falls short.
    for (const int channels : counts_) {
      construct(channels);
      if (is_done()) break;
      if (!request_.backtrack || model_.gpus() < 3) continue;
      for (const Limits& limits : variants()) search(channels, limits);
      if (is_done()) break;
      if (result_.steps >= budget_) {
        result_.stopped_early = true;
        break;
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_done() const { return result_.meets(result_.bounds); }

  /// As many channels as share the bound at a comfortable speed; between hosts, one for each card
  /// unless that makes too many.
  [[nodiscard]] int preferred() const {
    const Ceilings ceilings =
        ceilings_for(model_.compute_capability(), request_.pattern, request_.scope);
    const double bound = result_.bounds.inter;
    int channels = static_cast<int>(std::lround(bound / ceilings.comfortable));
    if (request_.scope == Scope::kInter) {
      const int cards = std::max(model_.nets(), 1);
      const int each = static_cast<int>(std::ceil(bound / cards / ceilings.inter - 1e-9));
      if (cards * each <= 16) channels = cards * each;
    }
    return std::clamp(channels, request_.least_channels, request_.most_channels);
  }

  [[nodiscard]] std::vector<int> channel_counts() const {
    int most = request_.most_channels;
    if (request_.scope == Scope::kInter) most = std::min(most, 2 * std::max(model_.nets(), 1));
    most = std::max(most, request_.least_channels);
    std::vector<int> counts;
    for (int count = request_.least_channels; count <= most; ++count) counts.push_back(count);
    std::stable_sort(counts.begin(), counts.end(), [&](int one, int other) {
      return std::abs(one - preferred_) < std::abs(other - preferred_);
    });
    // Long walks are those of switches, where the preferred number is as good as any.
    if (model_.gpus() > 16 && counts.size() > 4) counts.resize(4);
    return counts;
  }

  [[nodiscard]] std::vector<Limits> variants() const {
    if (request_.scope == Scope::kIntra) return {{.intra = intra_}};
    std::vector<Limits> all;
    const bool swaps = request_.pattern == Pattern::kRing && request_.cross_nic != 0;
    for (const bool cross : {false, true}) {
      if (cross && !swaps) continue;
      for (const PathType end : ends_) {
        all.push_back({.intra = intra_, .inter = end, .cross_nic = cross});
      }
    }
    return all;
  }

  void take(Plan plan) {
    if (is_better(plan, result_.plan, preferred_, request_.cross_nic != 1)) {
      result_.plan = std::move(plan);
    }
  }

  void construct(int channels) {
    for (const Limits& limits : variants()) {
      take(greedy_plan(model_, request_.pattern, request_.scope, channels, limits));
    }
  }

  /// Speeds at which a link is just full, between two ends, slowest first.
  [[nodiscard]] std::vector<double> speeds(double above, double most, int channels) const {
    std::set<double> list = {most};
    std::set<double> capacities;
    for (int resource = 0; resource < model_.resources(); ++resource) {
      capacities.insert(model_.capacity(resource));
    }
    for (const double capacity : capacities) {
      for (int share = 1; share <= 4 * channels; ++share) {
        for (const double weight : {1.0, topo::kIntelPeerFactor}) {
          const double speed = capacity * 2.0 / weight / share;
          if (speed > above * 1.001 && speed < most) list.insert(speed);
        }
      }
    }
    std::vector<double> sorted(list.begin(), list.end());
    if (sorted.size() > kSpeedsTried) {
      sorted.erase(sorted.begin(), sorted.end() - static_cast<std::ptrdiff_t>(kSpeedsTried));
    }
    return sorted;
  }

  bool attempt(int channels, const Limits& limits, double intra, double inter) {
    const std::int64_t left = budget_ - result_.steps;
    if (left <= 0) return false;
    const std::int64_t share = kStepsPerAttempt * 8 / std::max(model_.gpus(), 8);
    Backtrack search(model_, request_.pattern, request_.scope, limits,
                     {.channels = channels, .bw_intra = intra, .bw_inter = inter},
                     std::min(left, share));
    const bool found = search.run();
    result_.steps += search.steps();
    result_.stopped_early = result_.stopped_early || (!found && search.stopped_early());
    if (found) take(make_plan(model_, request_.pattern, request_.scope, search.channels()));
    return found;
  }

  /// The highest speed first, then halving the list: slower is easier.
  template <typename Try>
  double fastest(const std::vector<double>& list, const Try& try_speed) {
    if (list.empty()) return 0.0;
    if (try_speed(list.back())) return list.back();
    std::size_t good = 0;  // Speeds before this one are reached.
    std::size_t bad = list.size() - 1;
    while (good < bad) {
      const std::size_t middle = (good + bad) / 2;
      if (try_speed(list[middle])) {
        good = middle + 1;
      } else {
        bad = middle;
      }
    }
    return good == 0 ? 0.0 : list[good - 1];
  }

  void search(int channels, const Limits& limits) {
    const Ceilings ceilings =
        ceilings_for(model_.compute_capability(), request_.pattern, request_.scope);
    const double above = result_.plan.total_inter() / channels;
    const double most = std::min(result_.bounds.inter / channels,
                                 request_.scope == Scope::kIntra ? ceilings.intra : ceilings.inter);
    double inter = above;
    if (most > above * 1.001) {
      const double found = fastest(speeds(above, most, channels), [&](double speed) {
        return attempt(channels, limits, speed, speed);
      });
      inter = std::max(inter, found);
    }
    const bool chain = request_.pattern != Pattern::kRing && request_.scope == Scope::kInter;
    if (!chain || inter <= 0.0 || inter > ceilings.inter * (1.0 + 1e-9)) return;
    // As fast outside as found; now faster inside, if some other walks allow it.
    const double floor = std::max(result_.plan.total_intra() / channels, inter);
    const double ceiling = std::min({2.0 * inter, ceilings.intra, result_.bounds.intra / channels});
    if (ceiling <= floor * 1.001) return;
    fastest(speeds(floor, ceiling, channels),
            [&](double speed) { return attempt(channels, limits, speed, inter); });
  }

  const LoadModel& model_;
  WalkRequest request_;
  PathType intra_;
  std::vector<PathType> ends_;
  int preferred_ = 1;
  std::vector<int> counts_;
  std::int64_t budget_ = 0;
  WalkResult result_;
};

}  // namespace

WalkResult search_walks(const LoadModel& model, const WalkRequest& request) {
  WalkResult result;
  if (model.gpus() == 0) return result;
  if (request.scope == Scope::kInter && model.nets() == 0) return result;
  // The nearest hops that join all GPUs, and farther ones only where those allow no walk.
  for (const PathType type : types_of_hops(model)) {
    if (!joins_all(model, type)) continue;
    const std::int64_t steps = result.steps;
    result = WalkSearch(model, request, type).run();
    result.steps += steps;
    if (!result.plan.channels.empty() || !request.backtrack) break;
  }
  return result;
}

}  // namespace ripieno::graph

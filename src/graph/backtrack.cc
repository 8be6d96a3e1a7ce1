#include "graph/backtrack.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "graph/greedy.h"

namespace ripieno::graph {
namespace {

constexpr double kSlack = 1e-7;  // Sums of a few dozen speeds are exact to far better than this.
constexpr std::size_t kNetsTried = 4;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

Backtrack::Backtrack(const LoadModel& model, Pattern pattern, Scope scope, const Limits& limits,
                     const Target& target, std::int64_t budget)
    : model_(model),
      pattern_(pattern),
      scope_(scope),
      limits_(limits),
      target_(target),
      budget_(budget),
      visited_(at(model.gpus()), false) {
  for (int resource = 0; resource < model.resources(); ++resource) {
    left_.push_back(model.capacity(resource));
  }
}

bool Backtrack::run() {
  return place_channel();
}

bool Backtrack::allows(const Route& route, bool inter) const {
  return route.usable() && route.type <= (inter ? limits_.inter : limits_.intra);
}

bool Backtrack::take(const Route& route, double gbps, bool inter) {
  if (!allows(route, inter)) return false;
  for (const Use& use : route.uses) {
    if (left_[at(use.resource)] + kSlack < gbps * use.weight) return false;
  }
  for (const Use& use : route.uses) left_[at(use.resource)] -= gbps * use.weight;
  return true;
}

void Backtrack::give_back(const Route& route, double gbps) {
  for (const Use& use : route.uses) left_[at(use.resource)] += gbps * use.weight;
}

bool Backtrack::place_channel() {
  if (static_cast<int>(channels_.size()) == target_.channels) return true;
  if (steps_ >= budget_) return false;
  if (scope_ == Scope::kIntra) {
    open_ = {};
    for (const int gpu : starts(-1)) {
      if (start(gpu)) return true;
    }
    return false;
  }
  std::size_t tried = 0;
  for (const auto& [in, out] :
       net_choices(model_, channels_, target_.channels, limits_.cross_nic)) {
    if (tried++ == kNetsTried) break;
    for (const int gpu : starts(in)) {
      open_ = {.net_in = in, .net_out = out};
      if (start(gpu)) return true;
    }
  }
  return false;
}

std::vector<int> Backtrack::starts(int net) const {
  if (net < 0 && pattern_ == Pattern::kRing) return {0};
  std::vector<int> uses(at(model_.gpus()), 0);
  for (const Channel& channel : channels_) ++uses[at(channel.gpus.front())];
  std::vector<int> gpus;
  if (net >= 0) {
    for (const int gpu : model_.gpus_near(net)) {
      if (allows(model_.enter(net, gpu), true)) gpus.push_back(gpu);
    }
  } else {
    for (int gpu = 0; gpu < model_.gpus(); ++gpu) gpus.push_back(gpu);
  }
  const auto key = [&](int gpu) {
    const topo::PathType type = net >= 0 ? model_.enter(net, gpu).type : topo::PathType::kLocal;
    return std::tuple(type, uses[at(gpu)]);
  };
  std::stable_sort(gpus.begin(), gpus.end(),
                   [&](int one, int other) { return key(one) < key(other); });
  return gpus;
}

std::vector<Piece> Backtrack::pieces_at(std::size_t position, int gpu) const {
  if (scope_ == Scope::kIntra || position > 1) return {};
  const Route* in = &model_.enter(open_.net_in, gpu);
  const Route* out = &model_.leave(gpu, open_.net_out);
  if (pattern_ == Pattern::kBalancedTree) return {{in, 0.5, true}, {out, 0.5, true}};
  if (position == 0) {
    if (pattern_ == Pattern::kTree) return {{in, 1.0, true}, {out, 1.0, true}};
    return {{in, 1.0, true}};
  }
  if (pattern_ == Pattern::kSplitTree) return {{out, 1.0, true}};
  return {};
}

bool Backtrack::visit(int gpu, const Route* hop) {
  ++steps_;
  if (hop != nullptr && !take(*hop, target_.bw_intra, false)) return false;
  const std::vector<Piece> pieces = pieces_at(open_.gpus.size(), gpu);
  for (std::size_t index = 0; index < pieces.size(); ++index) {
    if (take(*pieces[index].route, target_.bw_inter * pieces[index].share, true)) continue;
    while (index-- > 0) {
      give_back(*pieces[index].route, target_.bw_inter * pieces[index].share);
    }
    if (hop != nullptr) give_back(*hop, target_.bw_intra);
    return false;
  }
  open_.gpus.push_back(gpu);
  visited_[at(gpu)] = true;
  return true;
}

void Backtrack::leave_gpu(int gpu, const Route* hop) {
  visited_[at(gpu)] = false;
  open_.gpus.pop_back();
  for (const Piece& piece : pieces_at(open_.gpus.size(), gpu)) {
    give_back(*piece.route, target_.bw_inter * piece.share);
  }
  if (hop != nullptr) give_back(*hop, target_.bw_intra);
}

bool Backtrack::start(int gpu) {
  if (steps_ >= budget_ || !visit(gpu, nullptr)) return false;
  if (extend()) return true;
  leave_gpu(gpu, nullptr);
  return false;
}

const Route* Backtrack::closing(int gpu) const {
  if (pattern_ != Pattern::kRing) return nullptr;
  if (scope_ == Scope::kInter) return &model_.leave(gpu, open_.net_out);
  return &model_.hop(gpu, open_.gpus.front());
}

/// Whether some GPU that is still to come can end the walk.
bool Backtrack::may_follow() const {
  if (pattern_ != Pattern::kRing) return true;
  for (int gpu = 0; gpu < model_.gpus(); ++gpu) {
    if (!visited_[at(gpu)] && allows(*closing(gpu), scope_ == Scope::kInter)) return true;
  }
  return false;
}

std::vector<Backtrack::Candidate> Backtrack::candidates() const {
  const int here = open_.gpus.back();
  // Links work both ways: the way back of the last channel is likely to be free.
  const std::vector<int>* last = channels_.empty() ? nullptr : &channels_.back().gpus;
  int before = -1;
  if (last != nullptr) {
    const auto found = std::find(last->begin(), last->end(), here);
    before = found == last->begin() ? last->back() : *(found - 1);
  }
  std::vector<Candidate> list;
  for (int gpu = 0; gpu < model_.gpus(); ++gpu) {
    const Route& hop = model_.hop(here, gpu);
    if (visited_[at(gpu)] || !allows(hop, false)) continue;
    double room = topo::kLocalGbps;
    for (const Use& use : hop.uses) {
      room = std::min(room, left_[at(use.resource)] / use.weight);
    }
    if (room + kSlack < target_.bw_intra) continue;
    const int distance = (gpu - here + model_.gpus()) % model_.gpus();
    list.push_back({hop.type, std::llround(room * 1e6), gpu == before ? 0 : distance, gpu});
  }
  std::sort(list.begin(), list.end(), [](const Candidate& one, const Candidate& other) {
    return std::tuple(one.type, -one.room, one.distance) <
           std::tuple(other.type, -other.room, other.distance);
  });
  return list;
}

bool Backtrack::extend() {
  if (static_cast<int>(open_.gpus.size()) == model_.gpus()) return finish();
  if (!may_follow()) return false;
  const int here = open_.gpus.back();
  for (const Candidate& candidate : candidates()) {
    if (steps_ >= budget_) return false;
    const Route* hop = &model_.hop(here, candidate.gpu);
    if (!visit(candidate.gpu, hop)) continue;
    if (extend()) return true;
    leave_gpu(candidate.gpu, hop);
  }
  return false;
}

bool Backtrack::finish() {
  const Route* end = closing(open_.gpus.back());
  const bool inter = scope_ == Scope::kInter;
  const double gbps = inter ? target_.bw_inter : target_.bw_intra;
  if (model_.gpus() == 1 && !inter) end = nullptr;
  if (end != nullptr && !take(*end, gbps, inter)) return false;
  const Channel finished = open_;
  const std::vector<bool> visited = visited_;
  channels_.push_back(finished);
  std::fill(visited_.begin(), visited_.end(), false);
  if (place_channel()) return true;
  channels_.pop_back();
  open_ = finished;
  visited_ = visited;
  if (end != nullptr) give_back(*end, gbps);
  return false;
}

}  // namespace ripieno::graph

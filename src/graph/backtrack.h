// Channels by search: one GPU after the other, the widest way first, back one step where there is
// no way on. Every channel is given a fixed speed; what it takes is gone for the next. Finds the
// packed ring sets of direct NVLink meshes, where every link counts.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/plan.h"
#include "graph/walk_search.h"

namespace ripieno::graph {

struct Target {
  int channels = 1;
  double bw_intra = 0.0;
  double bw_inter = 0.0;
};

class Backtrack {
 public:
  Backtrack(const LoadModel& model, Pattern pattern, Scope scope, const Limits& limits,
            const Target& target, std::int64_t budget);

  /// Whether all channels were placed; they are in channels() then.
  bool run();
  [[nodiscard]] const std::vector<Channel>& channels() const noexcept { return channels_; }
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  /// The budget ended the search: "no" does not mean that there is nothing.
  [[nodiscard]] bool stopped_early() const noexcept { return steps_ >= budget_; }

 private:
  struct Candidate {
    topo::PathType type;
    std::int64_t room;  // In millionths of GB/s: no difference by rounding.
    int distance;
    int gpu;
  };

  bool place_channel();
  bool start(int gpu);
  bool extend();
  bool finish();
  bool visit(int gpu, const Route* hop);
  void leave_gpu(int gpu, const Route* hop);
  [[nodiscard]] bool may_follow() const;
  [[nodiscard]] std::vector<Candidate> candidates() const;
  [[nodiscard]] std::vector<int> starts(int net) const;
  /// The network pieces that come with the GPU at this position of the walk.
  [[nodiscard]] std::vector<Piece> pieces_at(std::size_t position, int gpu) const;
  /// What ends a walk at `gpu`; null inside a host where there is nothing to close.
  [[nodiscard]] const Route* closing(int gpu) const;
  [[nodiscard]] bool allows(const Route& route, bool inter) const;
  bool take(const Route& route, double gbps, bool inter);
  void give_back(const Route& route, double gbps);

  const LoadModel& model_;
  Pattern pattern_;
  Scope scope_;
  Limits limits_;
  Target target_;
  std::int64_t budget_;
  std::int64_t steps_ = 0;
  std::vector<double> left_;
  std::vector<Channel> channels_;
  Channel open_;
  std::vector<bool> visited_;
};

}  // namespace ripieno::graph

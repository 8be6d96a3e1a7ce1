// A set of channels under construction: what each takes from every link, how fast they can all run,
// and which of two sets is the better one.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/load_model.h"

namespace ripieno::graph {

/// Limits of a channel's speed in GB/s: what one block of a GPU moves. The cost of going beyond is
/// nothing but a bandwidth that no kernel reaches.
struct Ceilings {
  double intra = 0.0;
  double inter = 0.0;
  /// The speed at which a channel works best; it decides how many channels share a bandwidth.
  double comfortable = 0.0;
};
[[nodiscard]] Ceilings ceilings_for(int compute_capability, Pattern pattern, Scope scope);

/// A piece of a channel: a route taken with a share of the channel's speed.
struct Piece {
  const Route* route = nullptr;
  double share = 1.0;
  bool inter = false;
};

/// The pieces of a channel of this shape.
[[nodiscard]] std::vector<Piece> pieces_of(const LoadModel& model, Pattern pattern, Scope scope,
                                           const Channel& channel);

/// Loads of all channels at 1 GB/s.
class Loads {
 public:
  explicit Loads(const LoadModel& model)
      : model_(&model),
        intra_(static_cast<std::size_t>(model.resources()), 0.0),
        inter_(intra_.size(), 0.0) {}

  void add(const std::vector<Piece>& pieces, double factor);
  /// How hard the links of some pieces are pressed at 1 GB/s: the hardest first, then all together.
  struct Pressure {
    double peak = 0.0;
    double squares = 0.0;
    [[nodiscard]] bool operator<(const Pressure& other) const noexcept {
      if (peak < other.peak * (1.0 - 1e-9)) return true;
      if (other.peak < peak * (1.0 - 1e-9)) return false;
      return squares < other.squares * (1.0 - 1e-9);
    }
  };
  [[nodiscard]] Pressure pressure(const std::vector<Piece>& pieces) const;
  /// The largest speed at which intra and inter are equal.
  [[nodiscard]] double fastest_equal() const;
  /// The largest intra speed at this inter speed.
  [[nodiscard]] double fastest_intra(double inter) const;

 private:
  const LoadModel* model_;
  std::vector<double> intra_;
  std::vector<double> inter_;
};

struct Plan {
  Pattern pattern = Pattern::kRing;
  std::vector<Channel> channels{};
  double bw_intra = 0.0;
  double bw_inter = 0.0;
  topo::PathType type_intra = topo::PathType::kLocal;
  topo::PathType type_inter = topo::PathType::kLocal;
  bool crosses = false;

  [[nodiscard]] double total_intra() const noexcept {
    return static_cast<double>(channels.size()) * bw_intra;
  }
  [[nodiscard]] double total_inter() const noexcept {
    return static_cast<double>(channels.size()) * bw_inter;
  }
};

/// Finds the speeds of channels whose walks are fixed. Trees may run faster inside than outside, up
/// to twice, since a host takes in two children.
[[nodiscard]] Plan make_plan(const LoadModel& model, Pattern pattern, Scope scope,
                             std::vector<Channel> channels);

/// Whether `one` is better: more bandwidth to the network, more inside, no crossing of cards,
/// nearer ends, then the number of channels nearest to `preferred`.
[[nodiscard]] bool is_better(const Plan& one, const Plan& other, int preferred,
                             bool crossing_matters);

}  // namespace ripieno::graph

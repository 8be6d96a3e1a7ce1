// Looks for the channels of one pattern: first by construction (greedy.h), which is enough where
// all GPUs hang on one switch, then by search with backtracking (backtrack.h) where they do not,
// until the bound (bound.h) is met or the budget is spent. The budget counts steps, never time, so
// that every rank comes to the same end.
#pragma once

#include <cstdint>

#include "graph/bound.h"
#include "graph/plan.h"

namespace ripieno::graph {

/// What channels may use.
struct Limits {
  topo::PathType intra = topo::PathType::kSystem;
  topo::PathType inter = topo::PathType::kSystem;
  bool cross_nic = false;  ///< Channels come in pairs that swap their cards.
};

struct WalkRequest {
  Pattern pattern = Pattern::kRing;
  Scope scope = Scope::kIntra;
  int least_channels = 1;
  int most_channels = 32;
  int cross_nic = 2;      ///< NCCL_CROSS_NIC: 0 never, 1 as good as any, 2 only where it helps.
  bool backtrack = true;  ///< Search where construction does not reach the bound.
};

struct WalkResult {
  Plan plan{};
  Bounds bounds{};
  std::int64_t steps = 0;
  bool stopped_early = false;

  /// Whether the bound leaves nothing to look for.
  [[nodiscard]] bool meets(const Bounds& bound) const noexcept {
    return plan.total_inter() >= bound.inter * 0.999 && plan.total_intra() >= bound.intra * 0.999;
  }
};

[[nodiscard]] WalkResult search_walks(const LoadModel& model, const WalkRequest& request);

}  // namespace ripieno::graph

// Channels by construction: each is a rotation of the canonical order, forwards or backwards, with
// its ends beside a network card; of all such walks the one is taken that loads the links least.
// Optimal on a switch, where every order is as good as any other and only the ends matter.
#pragma once

#include "graph/plan.h"
#include "graph/walk_search.h"

namespace ripieno::graph {

/// A plan of `channels` channels; without channels if the limits leave no such walk.
[[nodiscard]] Plan greedy_plan(const LoadModel& model, Pattern pattern, Scope scope, int channels,
                               const Limits& limits);

/// The cards that channel number `channel` may enter and leave by: one pair for a channel of a
/// swapping pair, else the cards in the order of how little they are used.
[[nodiscard]] std::vector<std::pair<int, int>> net_choices(const LoadModel& model,
                                                           const std::vector<Channel>& before,
                                                           int channels, bool cross_nic);

}  // namespace ripieno::graph

// Patterns with a head per channel: NVLS, where the NVSwitch reduces for it, and CollNet direct,
// where every GPU exchanges with every head. Nothing to search: the heads are spread over the
// network cards (or over the GPUs), and the speed follows.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "graph/load_model.h"

namespace ripieno::graph {

/// Nothing where there is no NVSwitch that reduces, or a single GPU.
[[nodiscard]] std::optional<Graph> nvls_graph(const LoadModel& model, Scope scope,
                                              int most_channels);
/// Nothing without a network.
[[nodiscard]] std::optional<Graph> collnet_direct_graph(const LoadModel& model, int most_heads);

}  // namespace ripieno::graph

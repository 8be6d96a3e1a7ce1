#include "graph/search.h"

#include <algorithm>
#include <chrono>

#include "base/parameters.h"
#include "graph/heads.h"
#include "graph/walk_search.h"

namespace ripieno::graph {
namespace {

constexpr IntParameter kCrossNic{"NCCL_CROSS_NIC"};
constexpr IntParameter kNvlsEnable{"NCCL_NVLS_ENABLE"};
constexpr int kCollnetHeads = 8;
constexpr int kNvlsChannels = 32;

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

bool all_alike(const std::vector<Channel>& channels) {
  return std::all_of(channels.begin(), channels.end(), [&](const Channel& channel) {
    return channel.gpus == channels.front().gpus && channel.net_in == channels.front().net_in;
  });
}

/// A single GPU has nowhere to go: channels are limited by what a block moves.
Graph alone(const LoadModel& model, Purpose purpose, Pattern pattern, int channels) {
  Graph graph{.purpose = purpose, .pattern = pattern, .scope = Scope::kIntra};
  graph.bw_intra = ceilings_for(model.compute_capability(), pattern, Scope::kIntra).intra;
  graph.bw_inter = graph.bw_intra;
  graph.channels.assign(static_cast<std::size_t>(channels), Channel{.gpus = {0}});
  graph.bound = graph.total();
  graph.same_channels = true;
  return graph;
}

void adopt(Graph& graph, WalkResult result) {
  graph.pattern = result.plan.pattern;
  graph.channels = std::move(result.plan.channels);
  graph.bw_intra = result.plan.bw_intra;
  graph.bw_inter = result.plan.bw_inter;
  graph.type_intra = result.plan.type_intra;
  graph.type_inter = result.plan.type_inter;
  graph.cross_nic = result.plan.crosses ? 2 : 0;
  graph.bound = result.bounds.intra;
  graph.steps = result.steps;
  graph.same_channels = !graph.channels.empty() && all_alike(graph.channels);
  graph.stopped_early = result.stopped_early && !graph.is_optimal();
}

/// The best over several shapes; where two are as good, the one that comes first. Construction of
/// all of them comes before the search of any.
WalkResult best_shape(const LoadModel& model, const std::vector<Pattern>& shapes,
                      WalkRequest request) {
  WalkResult best;
  Bounds bounds;
  for (const bool backtrack : {false, true}) {
    request.backtrack = backtrack;
    if (backtrack && best.meets(bounds)) break;
    for (const Pattern shape : shapes) {
      request.pattern = shape;
      WalkResult result = search_walks(model, request);
      bounds.inter = std::max(bounds.inter, result.bounds.inter);
      bounds.intra = std::max(bounds.intra, result.bounds.intra);
      result.steps += best.steps;
      result.stopped_early = result.stopped_early || best.stopped_early;
      const auto preferred = static_cast<int>(best.plan.channels.size());
      if (!is_better(result.plan, best.plan, preferred, request.cross_nic != 1)) {
        result.plan = std::move(best.plan);
      }
      best = std::move(result);
    }
  }
  best.bounds = bounds;
  return best;
}

Graph search_shapes(const LoadModel& model, Purpose purpose, const std::vector<Pattern>& shapes,
                    const WalkRequest& request) {
  const auto start = Clock::now();
  if (model.gpus() == 1 && request.scope == Scope::kIntra) {
    return alone(model, purpose, shapes.front(), request.most_channels);
  }
  Graph graph{.purpose = purpose, .pattern = shapes.front(), .scope = request.scope};
  WalkResult result = best_shape(model, shapes, request);
  if (result.plan.channels.empty()) result.plan.pattern = shapes.front();
  adopt(graph, std::move(result));
  graph.search_ms = milliseconds_since(start);
  return graph;
}

}  // namespace

SearchOptions SearchOptions::from_parameters(Scope scope) {
  SearchOptions options{.scope = scope};
  options.cross_nic = static_cast<int>(kCrossNic.value());
  options.nvls = kNvlsEnable.value() != 0;
  return options;
}

GraphSet search_graphs(const topo::PathTable& paths, const SearchOptions& options) {
  const LoadModel model(paths);
  GraphSet set;
  if (model.gpus() == 0) return set;
  const WalkRequest request{.scope = options.scope,
                            .least_channels = options.least_channels,
                            .most_channels = options.most_channels,
                            .cross_nic = options.cross_nic};
  set.ring = search_shapes(model, Purpose::kRing, {Pattern::kRing}, request);
  // A channel is a ring and a tree at once, so there must be as many of one as of the other.
  WalkRequest paired = request;
  if (!set.ring.channels.empty()) {
    paired.least_channels = static_cast<int>(set.ring.channels.size());
    paired.most_channels = paired.least_channels;
  }
  const bool inter = options.scope == Scope::kInter;
  set.tree =
      search_shapes(model, Purpose::kTree,
                    inter ? std::vector{Pattern::kBalancedTree, Pattern::kSplitTree, Pattern::kTree}
                          : std::vector{Pattern::kBalancedTree},
                    paired);
  if (inter && options.collnet && model.nets() > 0) {
    set.collnet_chain = search_shapes(model, Purpose::kCollnetChain, {Pattern::kTree}, request);
    const auto start = Clock::now();
    set.collnet_direct = collnet_direct_graph(model, kCollnetHeads);
    if (set.collnet_direct) set.collnet_direct->search_ms = milliseconds_since(start);
  }
  if (options.nvls) {
    const auto start = Clock::now();
    set.nvls = nvls_graph(model, options.scope, kNvlsChannels);
    if (set.nvls) set.nvls->search_ms = milliseconds_since(start);
  }
  return set;
}

std::vector<const Graph*> graphs_of(const GraphSet& set) {
  std::vector<const Graph*> graphs = {&set.ring, &set.tree};
  if (set.collnet_chain) graphs.push_back(&*set.collnet_chain);
  if (set.collnet_direct) graphs.push_back(&*set.collnet_direct);
  if (set.nvls) graphs.push_back(&*set.nvls);
  return graphs;
}

}  // namespace ripieno::graph

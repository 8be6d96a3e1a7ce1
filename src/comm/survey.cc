#include "comm/survey.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/parameters.h"
#include "topo/describe.h"
#include "topo/read_system.h"

namespace ripieno::comm {
namespace {

constexpr StringParameter kTopoDumpFile{"NCCL_TOPO_DUMP_FILE"};
constexpr StringParameter kGraphFile{"NCCL_GRAPH_FILE"};
constexpr StringParameter kGraphDumpFile{"NCCL_GRAPH_DUMP_FILE"};

std::size_t at(int index) noexcept {
  return static_cast<std::size_t>(index);
}

/// Ranks by the device that they run on.
std::map<std::string, std::vector<int>> ranks_by_device(std::span<const connect::PeerInfo> peers) {
  std::map<std::string, std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    ranks[peers[rank].bus_id.data()].push_back(static_cast<int>(rank));
  }
  return ranks;
}

/// A graph over devices becomes one over ranks: those of a device follow each other.
graph::Graph over_ranks(graph::Graph graph, const std::vector<std::vector<int>>& places) {
  for (graph::Channel& channel : graph.channels) {
    std::vector<int> walk;
    for (const int gpu : channel.gpus) {
      walk.insert(walk.end(), places[at(gpu)].begin(), places[at(gpu)].end());
    }
    channel.gpus = std::move(walk);
  }
  return graph;
}

graph::JoinedGraphs join(const Survey& survey,
                         const std::map<std::string, std::vector<int>>& devices) {
  std::map<int, const std::vector<int>*> ranks_with;
  for (const auto& [bus_id, ranks] : devices) ranks_with[ranks.front()] = &ranks;
  graph::HostGraphs host;
  std::vector<std::vector<int>> places;
  for (const topo::NodeId gpu : survey.machine.system.gpus()) {
    std::vector<int>& place = places.emplace_back();
    for (const int rank : *ranks_with.at(survey.machine.system.rank_of(gpu))) {
      place.push_back(static_cast<int>(host.ranks.size()));
      host.ranks.push_back(rank);
    }
  }
  host.ring = over_ranks(survey.graphs.ring, places);
  host.tree = over_ranks(survey.graphs.tree, places);
  return graph::join_hosts({&host, 1});
}

void log_lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    log_info(log_subsystem::kGraph, "{}", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string tree_text(const graph::TreeLinks& links, int rank) {
  return fmt::format("{}/{}/{}->{}->{}", links.down[0], links.down[1], links.down[2], rank,
                     links.up);
}

void log_graphs(const Survey& survey) {
  for (const graph::Graph* graph : graph::graphs_of(survey.graphs)) {
    log_info(
        log_subsystem::kGraph,
        "Pattern {}: {} channels x {:.4g} GB/s, {}, bound {:.4g} GB/s, {} steps in {:.2f} ms{}",
        graph::graph_name(graph->purpose, graph->pattern), graph->channels.size(), graph->bw_intra,
        topo::path_name(graph->type_intra), graph->bound, graph->steps, graph->search_ms,
        graph->from_file ? ", from a file" : "");
  }
  for (int channel = 0; channel < survey.joined.channels; ++channel) {
    log_info(log_subsystem::kGraph, "Channel {:02}/{:02} : {}", channel, survey.joined.channels,
             fmt::join(survey.joined.rings[at(channel)], " "));
  }
}

}  // namespace

bool survey_is_wanted() noexcept {
  return log_info_enabled(log_subsystem::kGraph) || kTopoDumpFile.is_set() || kGraphFile.is_set() ||
         kGraphDumpFile.is_set();
}

std::unique_ptr<Survey> make_survey(int rank, std::span<const connect::PeerInfo> peers) {
  const std::map<std::string, std::vector<int>> devices = ranks_by_device(peers);
  const bool virtual_devices = device::backend().name() == "host";
  topo::DetectionRequest request{.nets = topo::local_nets(), .ask_nvml = !virtual_devices};
  std::map<std::string, int> first_ranks;
  for (const auto& [bus_id, ranks] : devices) {
    request.devices.push_back({.device = peers[at(ranks.front())].device,
                               .bus_id = bus_id,
                               .is_virtual = virtual_devices,
                               .direct_rdma = !virtual_devices});
    first_ranks[topo::canonical_bus_id(bus_id)] = ranks.front();
  }
  auto survey = std::make_unique<Survey>();
  survey->machine = topo::local_machine(request, first_ranks, rank);
  survey->paths.emplace(survey->machine.system, topo::PathPolicy::from_parameters());
  survey->graphs = graph::graphs_for(
      *survey->paths, graph::SearchOptions::from_parameters(graph::Scope::kIntra), rank);
  survey->joined = join(*survey, devices);
  return survey;
}

void log_survey(const Survey& survey, int rank) {
  if (!log_info_enabled(log_subsystem::kGraph)) return;
  if (rank == 0) {
    log_lines(topo::draw_tree(survey.machine.system));
    log_graphs(survey);
  }
  std::string trees;
  for (int channel = 0; channel < survey.joined.channels; ++channel) {
    const std::vector<int>& ring = survey.joined.rings[at(channel)];
    const auto here = std::find(ring.begin(), ring.end(), rank);
    const std::size_t place = static_cast<std::size_t>(here - ring.begin());
    log_info(log_subsystem::kGraph, "Ring {:02} : {} -> {} -> {}", channel,
             ring[(place + ring.size() - 1) % ring.size()], rank, ring[(place + 1) % ring.size()]);
    trees += fmt::format(" [{}] {}", channel,
                         tree_text(survey.joined.trees[at(channel)][at(rank)], rank));
  }
  log_info(log_subsystem::kGraph, "Trees{}", trees);
}

}  // namespace ripieno::comm

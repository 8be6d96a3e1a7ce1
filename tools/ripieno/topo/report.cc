#include "topo/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "topo/choices.h"

namespace ripieno::tool {
namespace {

using nlohmann::ordered_json;

/// Ranks of a channel's walk.
std::vector<int> ranks_of(const Subject& subject, const graph::Channel& channel) {
  std::vector<int> ranks;
  for (const int gpu : channel.gpus) {
    ranks.push_back(subject.system.rank_of(subject.system.gpus()[static_cast<std::size_t>(gpu)]));
  }
  return ranks;
}

const topo::Node& net_of(const Subject& subject, int net) {
  return subject.system.node(subject.system.nets()[static_cast<std::size_t>(net)]);
}

/// "0 1 2 3", or "0-71" where ranks follow each other.
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t start = 0; start < ranks.size();) {
    std::size_t end = start + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ' ';
    if (end - start > 3) {
      text += fmt::format("{}-{}", ranks[start], ranks[end - 1]);
    } else {
      text += fmt::format("{}", fmt::join(ranks.begin() + static_cast<std::ptrdiff_t>(start),
                                          ranks.begin() + static_cast<std::ptrdiff_t>(end), " "));
    }
    start = end;
  }
  return text;
}

std::string channel_text(const Subject& subject, const graph::Graph& graph,
                         const graph::Channel& channel) {
  const bool head =
      graph.pattern == graph::Pattern::kNvls || graph.pattern == graph::Pattern::kCollnetDirect;
  std::vector<int> ranks = ranks_of(subject, channel);
  if (head) ranks.resize(1);
  std::string text = head ? fmt::format("head {}", ranks.front()) : ranks_text(ranks);
  if (channel.net_in >= 0)
    text = fmt::format("[{}] ", net_of(subject, channel.net_in).net.name) + text;
  if (channel.net_out >= 0) text += fmt::format(" [{}]", net_of(subject, channel.net_out).net.name);
  return text;
}

std::string graph_text(const Subject& subject, const graph::Graph& graph) {
  if (graph.channels.empty()) {
    return fmt::format("{}: no channels\n", graph::purpose_name(graph.purpose));
  }
  const bool inter = graph.scope == graph::Scope::kInter;
  std::string text = fmt::format("{}: {} channels x {:.4g} GB/s = {:.4g} GB/s",
                                 graph::graph_name(graph.purpose, graph.pattern),
                                 graph.channels.size(), graph.bw_intra, graph.total());
  if (inter) text += fmt::format(", {:.4g} GB/s each to the network", graph.bw_inter);
  text += fmt::format(", {}", topo::path_name(graph.type_intra));
  if (inter) text += fmt::format("/{}", topo::path_name(graph.type_inter));
  if (graph.cross_nic != 0) text += ", pairs of channels swap their cards";
  if (graph.from_file) {
    text += "; from a file";
  } else if (graph.is_optimal()) {
    text += "; no set of channels carries more";
  } else {
    text += fmt::format("; none can carry more than {:.4g} GB/s{}", graph.bound,
                        graph.stopped_early ? ", and the search stopped early" : "");
  }
  text += '\n';
  for (std::size_t first = 0; first < graph.channels.size();) {
    const std::string line = channel_text(subject, graph, graph.channels[first]);
    std::size_t next = first + 1;
    while (next < graph.channels.size() &&
           channel_text(subject, graph, graph.channels[next]) == line) {
      ++next;
    }
    text += next - first > 1 ? fmt::format("  {:02}-{:02}: {}\n", first, next - 1, line)
                             : fmt::format("  {:02}   : {}\n", first, line);
    first = next;
  }
  return text;
}

std::string joined_text(const Subject& subject) {
  const graph::JoinedGraphs joined = join_subject(subject);
  std::string text = fmt::format("over {} hosts: {} ranks, {} rings and trees\n", subject.hosts,
                                 subject.hosts * subject.gpu_count(), joined.channels);
  for (const std::string& remark : joined.remarks) text += "  " + remark + '\n';
  for (int channel = 0; channel < joined.channels / 2; ++channel) {
    const std::vector<int>& ring = joined.rings[static_cast<std::size_t>(channel)];
    const std::size_t shown = std::min<std::size_t>(ring.size(), 64);
    text +=
        fmt::format("  ring {:02}: {}{}\n", channel,
                    ranks_text({ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(shown)}),
                    shown < ring.size() ? " ..." : "");
  }
  for (int channel = 0; channel < joined.channels; ++channel) {
    const std::vector<graph::TreeLinks>& tree = joined.trees[static_cast<std::size_t>(channel)];
    const auto root = std::find_if(tree.begin(), tree.end(),
                                   [](const graph::TreeLinks& links) { return links.up < 0; });
    text += fmt::format("  tree {:02}: root {}\n", channel, std::distance(tree.begin(), root));
  }
  return text;
}

ordered_json graph_json(const Subject& subject, const graph::Graph& graph) {
  ordered_json json;
  json["pattern"] = graph::graph_name(graph.purpose, graph.pattern);
  json["purpose"] = graph::purpose_name(graph.purpose);
  json["scope"] = graph::scope_name(graph.scope);
  json["channels"] = graph.channels.size();
  json["bw_intra"] = graph.bw_intra;
  json["bw_inter"] = graph.bw_inter;
  json["total"] = graph.total();
  json["type_intra"] = topo::path_name(graph.type_intra);
  json["type_inter"] = topo::path_name(graph.type_inter);
  json["cross_nic"] = graph.cross_nic;
  json["search_ms"] = graph.search_ms;
  json["steps"] = graph.steps;
  json["bound"] = graph.bound;
  json["optimal"] = graph.is_optimal();
  json["stopped_early"] = graph.stopped_early;
  json["from_file"] = graph.from_file;
  ordered_json walks = ordered_json::array();
  ordered_json nets = ordered_json::array();
  for (const graph::Channel& channel : graph.channels) {
    walks.push_back(ranks_of(subject, channel));
    if (channel.net_in < 0) continue;
    nets.push_back(
        {net_of(subject, channel.net_in).net.device, net_of(subject, channel.net_out).net.device});
  }
  json["paths"] = std::move(walks);
  json["nets"] = std::move(nets);
  return json;
}

ordered_json path_json(const topo::Path& path) {
  return {{"type", topo::path_name(path.type)}, {"gbps", path.gbps}, {"hops", path.hops()}};
}

ordered_json machine_json(const Subject& subject) {
  ordered_json json;
  for (const topo::NodeId id : subject.system.gpus()) {
    const topo::Node& node = subject.system.node(id);
    json["gpus"].push_back({{"device", node.gpu.device},
                            {"rank", node.gpu.rank},
                            {"host", node.host},
                            {"bus_id", node.bus_id},
                            {"sm", node.gpu.compute_capability},
                            {"nvlinks", node.gpu.nvlinks}});
  }
  for (const topo::NodeId id : subject.system.nets()) {
    const topo::Node& node = subject.system.node(id);
    json["nets"].push_back({{"device", node.net.device},
                            {"name", node.net.name},
                            {"host", node.host},
                            {"speed_mbps", node.net.speed_mbps},
                            {"latency_us", node.net.latency_us},
                            {"port", node.net.port}});
  }
  return json;
}

ordered_json paths_json(const topo::PathTable& paths) {
  ordered_json json = {{"gpu_to_gpu", ordered_json::array()},
                       {"gpu_to_net", ordered_json::array()},
                       {"net_to_gpu", ordered_json::array()},
                       {"nearest_net", ordered_json::array()}};
  for (int gpu = 0; gpu < paths.gpu_count(); ++gpu) {
    ordered_json peers = ordered_json::array();
    ordered_json nets = ordered_json::array();
    for (int other = 0; other < paths.gpu_count(); ++other) {
      ordered_json path = path_json(paths.gpu_to_gpu(gpu, other));
      path["peer_access"] = paths.peer_access(gpu, other).allowed;
      path["reason"] = paths.peer_access(gpu, other).reason;
      peers.push_back(std::move(path));
    }
    for (int net = 0; net < paths.net_count(); ++net) {
      ordered_json path = path_json(paths.gpu_to_net(gpu, net));
      path["direct_rdma"] = paths.direct_rdma(gpu, net).allowed;
      path["reason"] = paths.direct_rdma(gpu, net).reason;
      nets.push_back(std::move(path));
    }
    json["gpu_to_gpu"].push_back(std::move(peers));
    json["gpu_to_net"].push_back(std::move(nets));
    json["nearest_net"].push_back(paths.nearest_net(gpu));
  }
  for (int net = 0; net < paths.net_count(); ++net) {
    ordered_json gpus = ordered_json::array();
    for (int gpu = 0; gpu < paths.gpu_count(); ++gpu) {
      gpus.push_back(path_json(paths.net_to_gpu(net, gpu)));
    }
    json["net_to_gpu"].push_back(std::move(gpus));
  }
  return json;
}

ordered_json joined_json(const Subject& subject) {
  const graph::JoinedGraphs joined = join_subject(subject);
  ordered_json json = {{"hosts", subject.hosts},
                       {"ranks", subject.hosts * subject.gpu_count()},
                       {"channels", joined.channels},
                       {"remarks", joined.remarks},
                       {"rings", joined.rings}};
  ordered_json trees = ordered_json::array();
  for (const std::vector<graph::TreeLinks>& tree : joined.trees) {
    ordered_json parents = ordered_json::array();
    for (const graph::TreeLinks& links : tree) parents.push_back(links.up);
    trees.push_back(std::move(parents));
  }
  json["tree_parents"] = std::move(trees);
  return json;
}

}  // namespace

std::string graphs_text(const Subject& subject) {
  std::string text;
  const graph::GraphSet* set = subject.in_use();
  if (set == nullptr) {
    text += "there is no network: channels to other hosts cannot be made\n";
  } else {
    for (const graph::Graph* graph : graph::graphs_of(*set)) text += graph_text(subject, *graph);
  }
  if (subject.hosts > 1) text += joined_text(subject);
  return text;
}

std::string subject_json(const Subject& subject) {
  ordered_json json = {{"source", subject.document.source}};
  json.update(machine_json(subject));
  json["paths"] = paths_json(*subject.paths);
  json["graphs"] = ordered_json::array();
  for (const std::optional<graph::GraphSet>* set : {&subject.intra, &subject.inter}) {
    if (!*set) continue;
    for (const graph::Graph* graph : graph::graphs_of(**set)) {
      if (!graph->channels.empty()) json["graphs"].push_back(graph_json(subject, *graph));
    }
  }
  if (subject.hosts > 1) json["joined"] = joined_json(subject);
  if (subject.in_use() != nullptr) json["choices"] = choices_json(subject);
  return json.dump(1) + '\n';
}

}  // namespace ripieno::tool

#include "topo/page.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "topo/choices.h"
#include "topo/page_template.h"

namespace ripieno::tool {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kPlace = "/*DATA*/null";

std::string_view kind_name(topo::NodeKind kind) {
  switch (kind) {
    case topo::NodeKind::kGpu:
      return "gpu";
    case topo::NodeKind::kDevice:
      return "device";
    case topo::NodeKind::kPciSwitch:
      return "pci";
    case topo::NodeKind::kNvSwitch:
      return "nvswitch";
    case topo::NodeKind::kCpu:
      return "cpu";
    case topo::NodeKind::kNic:
      return "nic";
    default:
      return "net";
  }
}

ordered_json nodes_json(const topo::System& system) {
  ordered_json nodes = ordered_json::array();
  for (topo::NodeId id = 0; id < system.node_count(); ++id) {
    const topo::Node& node = system.node(id);
    ordered_json json = {{"kind", kind_name(node.kind)},
                         {"label", system.label(id)},
                         {"host", node.host},
                         {"parent", node.parent},
                         {"bus", node.bus_id}};
    if (node.kind == topo::NodeKind::kGpu) {
      json["rank"] = node.gpu.rank;
      json["sm"] = node.gpu.compute_capability;
    }
    if (node.kind == topo::NodeKind::kNet) json["speed"] = node.net.speed_mbps / 1000.0;
    nodes.push_back(std::move(json));
  }
  return nodes;
}

ordered_json links_json(const topo::System& system) {
  ordered_json links = ordered_json::array();
  for (topo::LinkId id = 0; id < system.link_count(); ++id) {
    const topo::Link& link = system.link(id);
    links.push_back({link.from, link.to, topo::link_name(link.kind), link.gbps});
  }
  return links;
}

ordered_json path_json(const topo::Path& path) {
  return {topo::path_name(path.type), path.gbps, path.links};
}

/// A matrix of paths: row by row.
template <typename PathOf>
ordered_json matrix_json(int rows, int columns, PathOf path_of) {
  ordered_json matrix = ordered_json::array();
  for (int row = 0; row < rows; ++row) {
    ordered_json line = ordered_json::array();
    for (int column = 0; column < columns; ++column)
      line.push_back(path_json(path_of(row, column)));
    matrix.push_back(std::move(line));
  }
  return matrix;
}

ordered_json graph_json(const graph::Graph& graph) {
  ordered_json channels = ordered_json::array();
  for (const graph::Channel& channel : graph.channels) {
    channels.push_back({channel.gpus, channel.net_in, channel.net_out});
  }
  return {{"name", graph::graph_name(graph.purpose, graph.pattern)},
          {"pattern", graph::pattern_name(graph.pattern)},
          {"scope", graph::scope_name(graph.scope)},
          {"bwIntra", graph.bw_intra},
          {"bwInter", graph.bw_inter},
          {"total", graph.total()},
          {"bound", graph.bound},
          {"optimal", graph.is_optimal()},
          {"early", graph.stopped_early},
          {"typeIntra", topo::path_name(graph.type_intra)},
          {"typeInter", topo::path_name(graph.type_inter)},
          {"channels", std::move(channels)}};
}

ordered_json page_json(const Subject& subject) {
  const topo::System& system = subject.system;
  const topo::PathTable& paths = *subject.paths;
  const int gpus = paths.gpu_count();
  const int nets = paths.net_count();
  ordered_json json = {
      {"source", subject.document.source},
      {"hosts", subject.hosts},
      {"nodes", nodes_json(system)},
      {"links", links_json(system)},
      {"gpus", std::vector<int>(system.gpus().begin(), system.gpus().end())},
      {"nets", std::vector<int>(system.nets().begin(), system.nets().end())},
      {"gpuPaths", matrix_json(gpus, gpus,
                               [&](int from, int to) -> const topo::Path& {
                                 return paths.gpu_to_gpu(from, to);
                               })},
      {"outPaths", matrix_json(gpus, nets,
                               [&](int gpu, int net) -> const topo::Path& {
                                 return paths.gpu_to_net(gpu, net);
                               })},
      {"inPaths", matrix_json(nets, gpus, [&](int net, int gpu) -> const topo::Path& {
         return paths.net_to_gpu(net, gpu);
       })}};
  json["graphs"] = ordered_json::array();
  for (const std::optional<graph::GraphSet>* set : {&subject.intra, &subject.inter}) {
    if (!*set) continue;
    for (const graph::Graph* graph : graph::graphs_of(**set)) {
      if (!graph->channels.empty()) json["graphs"].push_back(graph_json(*graph));
    }
  }
  if (subject.in_use() != nullptr) json["model"] = curves_json(subject);
  return json;
}

/// JSON inside a script element: nothing in it may look like the element's end.
std::string for_script(std::string text) {
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

}  // namespace

std::string page_html(const Subject& subject) {
  std::string page(kPageTemplate);
  const std::string data = for_script(page_json(subject).dump());
  return page.replace(page.find(kPlace), kPlace.size(), data);
}

}  // namespace ripieno::tool

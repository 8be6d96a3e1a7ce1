#include "graph/graph_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"

namespace ripieno::graph {
namespace {

using topo::Element;
using topo::PathType;

constexpr StringParameter kGraphFile{"NCCL_GRAPH_FILE"};
constexpr StringParameter kGraphDumpFile{"NCCL_GRAPH_DUMP_FILE"};
constexpr IntParameter kGraphDumpFileRank{"NCCL_GRAPH_DUMP_FILE_RANK"};

constexpr std::array kPurposes = {Purpose::kRing, Purpose::kTree, Purpose::kCollnetChain,
                                  Purpose::kNvls, Purpose::kCollnetDirect};
constexpr std::size_t kMostChannels = 1024;

int number_of(Purpose purpose) {
  return static_cast<int>(std::find(kPurposes.begin(), kPurposes.end(), purpose) -
                          kPurposes.begin());
}

std::string number_text(double number) {
  return fmt::format("{:.6g}", number);
}

void write_end(Element& channel, const topo::System& system, int net) {
  if (net < 0) return;
  const topo::Node& node = system.node(system.nets()[static_cast<std::size_t>(net)]);
  Element& element = channel.add("net");
  element.set("dev", std::to_string(node.net.device));
  if (system.host_count() > 1) element.set("host", std::to_string(node.host));
}

Element graph_to_xml(const Graph& graph, const topo::System& system) {
  Element element{.name = "graph"};
  element.set("id", std::to_string(number_of(graph.purpose)));
  element.set("pattern", std::to_string(static_cast<int>(graph.pattern)));
  element.set("crossnic", std::to_string(graph.cross_nic));
  element.set("nchannels", std::to_string(graph.channels.size()));
  element.set("speedintra", number_text(graph.bw_intra));
  element.set("speedinter", number_text(graph.bw_inter));
  element.set("latencyinter", "0");
  element.set("typeintra", std::string(topo::path_name(graph.type_intra)));
  element.set("typeinter", std::string(topo::path_name(graph.type_inter)));
  element.set("samechannels", graph.same_channels ? "1" : "0");
  for (const Channel& channel : graph.channels) {
    Element& child = element.add("channel");
    write_end(child, system, channel.net_in);
    for (const int gpu : channel.gpus) {
      const topo::Node& node = system.node(system.gpus()[static_cast<std::size_t>(gpu)]);
      Element& visited = child.add("gpu");
      visited.set("dev", std::to_string(node.gpu.device));
      if (system.host_count() > 1) visited.set("host", std::to_string(node.host));
    }
    write_end(child, system, channel.net_out);
  }
  return element;
}

class Reader {
 public:
  Reader(const topo::Document& document, const topo::System& system, Scope scope)
      : document_(document), system_(system), scope_(scope) {}

  Graph read(const Element& element, Purpose purpose) const {
    Graph graph{.purpose = purpose, .scope = scope_};
    const int pattern = integer(element, "pattern");
    if (pattern < 1 || pattern > 6) fail(element, fmt::format("pattern {} is not known", pattern));
    graph.pattern = static_cast<Pattern>(pattern);
    graph.cross_nic = std::clamp(integer(element, "crossnic", 0), 0, 2);
    graph.bw_intra = speed(element, "speedintra");
    graph.bw_inter = speed(element, "speedinter");
    graph.type_intra = type(element, "typeintra");
    graph.type_inter = type(element, "typeinter");
    graph.same_channels = integer(element, "samechannels", 0) != 0;
    graph.from_file = true;
    for (const Element& child : element.children) {
      if (child.name == "channel") graph.channels.push_back(channel(child, graph.pattern));
    }
    const int promised = integer(element, "nchannels", static_cast<int>(graph.channels.size()));
    if (promised != static_cast<int>(graph.channels.size())) {
      fail(element, fmt::format("nchannels is {} but there are {} channels", promised,
                                graph.channels.size()));
    }
    if (graph.channels.size() > kMostChannels) {
      fail(element, fmt::format("{} channels; at most {} make sense", promised, kMostChannels));
    }
    graph.bound = graph.total();
    return graph;
  }

  [[noreturn]] void fail(const Element& element, const std::string& text) const {
    throw Error(ncclInvalidUsage, "{}:{}: {}", document_.source, element.line, text);
  }

  int integer(const Element& element, std::string_view name,
              std::optional<int> fallback = std::nullopt) const {
    const std::string_view text = element.get(name);
    if (text.empty() && fallback) return *fallback;
    int number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size()) {
      fail(element, fmt::format("<{}> {}=\"{}\" is not a whole number", element.name, name,
                                text.substr(0, 40)));
    }
    return number;
  }

 private:
  double speed(const Element& element, std::string_view name) const {
    const std::string_view text = element.get(name);
    double number = 0.0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size() || !(number > 0.0) ||
        number > 1e6) {
      fail(element, fmt::format("{}=\"{}\" is not a bandwidth in GB/s", name, text.substr(0, 40)));
    }
    return number;
  }

  PathType type(const Element& element, std::string_view name) const {
    const std::string_view text = element.get(name, "LOC");
    const std::optional<PathType> type = topo::parse_path_type(text);
    if (!type) {
      fail(element, fmt::format("{}=\"{}\" is no type of path", name, text.substr(0, 40)));
    }
    return *type;
  }

  /// Position among `nodes` of the device that an element names.
  template <typename DeviceOf>
  int position(const Element& element, std::span<const topo::NodeId> nodes,
               const DeviceOf& device_of) const {
    const int device = integer(element, "dev");
    const int host = integer(element, "host", 0);
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      const topo::Node& node = system_.node(nodes[index]);
      if (device_of(node) == device && node.host == host) return static_cast<int>(index);
    }
    fail(element, fmt::format("<{} dev=\"{}\"> is not among the {} in use", element.name, device,
                              nodes.size()));
  }

  Channel channel(const Element& element, Pattern pattern) const {
    Channel channel;
    for (const Element& child : element.children) {
      if (child.name == "gpu") {
        const int gpu =
            position(child, system_.gpus(), [](const topo::Node& node) { return node.gpu.device; });
        if (std::find(channel.gpus.begin(), channel.gpus.end(), gpu) != channel.gpus.end()) {
          fail(child, fmt::format("GPU {} is twice in the channel", child.get("dev")));
        }
        channel.gpus.push_back(gpu);
      } else if (child.name == "net" && scope_ == Scope::kInter) {
        const int net =
            position(child, system_.nets(), [](const topo::Node& node) { return node.net.device; });
        if (channel.net_in < 0) channel.net_in = net;
        channel.net_out = net;
      } else if (child.name != "net") {
        fail(child, fmt::format("<{}> is not expected in a channel", child.name));
      }
    }
    const bool heads = pattern == Pattern::kNvls || pattern == Pattern::kCollnetDirect;
    if (channel.gpus.empty() || (!heads && channel.gpus.size() != system_.gpus().size())) {
      fail(element, fmt::format("the channel has {} GPUs; {} are in use", channel.gpus.size(),
                                system_.gpus().size()));
    }
    if (scope_ == Scope::kInter && channel.net_in < 0) {
      fail(element, "the channel names no <net>, but there are other hosts");
    }
    return channel;
  }

  const topo::Document& document_;
  const topo::System& system_;
  Scope scope_;
};

}  // namespace

Element graphs_to_xml(const GraphSet& set, const topo::System& system) {
  Element root{.name = "graphs", .attributes = {{"version", "1"}}};
  for (const Graph* graph : graphs_of(set)) {
    if (!graph->channels.empty()) root.children.push_back(graph_to_xml(*graph, system));
  }
  return root;
}

GraphSet graphs_from_xml(const topo::Document& document, const topo::PathTable& paths,
                         const SearchOptions& options) {
  const Reader reader(document, paths.system(), options.scope);
  const Element& root = document.root;
  if (root.name != "graphs") {
    reader.fail(root, fmt::format("the root element is <{}>; a graph file begins with <graphs>",
                                  root.name));
  }
  std::array<std::optional<Graph>, kPurposes.size()> found;
  for (const Element& child : root.children) {
    if (child.name != "graph") {
      reader.fail(child, fmt::format("<{}> is not expected in <graphs>", child.name));
    }
    const int id = reader.integer(child, "id");
    if (id < 0 || id >= static_cast<int>(kPurposes.size())) {
      reader.fail(child, fmt::format("graph id {} is not known", id));
    }
    const auto index = static_cast<std::size_t>(id);
    found[index] = reader.read(child, kPurposes[index]);
  }
  GraphSet set = search_graphs(paths, options);
  const auto use = [&](Purpose purpose, auto& graph) {
    std::optional<Graph>& file = found[static_cast<std::size_t>(number_of(purpose))];
    if (file) graph = std::move(*file);
  };
  use(Purpose::kRing, set.ring);
  use(Purpose::kTree, set.tree);
  use(Purpose::kCollnetChain, set.collnet_chain);
  use(Purpose::kCollnetDirect, set.collnet_direct);
  use(Purpose::kNvls, set.nvls);
  return set;
}

GraphSet graphs_for(const topo::PathTable& paths, const SearchOptions& options, int rank) {
  GraphSet set;
  if (kGraphFile.is_set()) {
    try {
      set = graphs_from_xml(topo::load_document(kGraphFile.value()), paths, options);
    } catch (const Error& error) {
      throw Error(error.result(), "NCCL_GRAPH_FILE='{}' (set by {}) cannot be used: {}",
                  kGraphFile.value(), kGraphFile.source(), error.what());
    }
  } else {
    set = search_graphs(paths, options);
  }
  if (kGraphDumpFile.is_set() && kGraphDumpFileRank.value() == rank) {
    topo::dump_document(graphs_to_xml(set, paths.system()), kGraphDumpFile.value(),
                        "NCCL_GRAPH_DUMP_FILE");
  }
  return set;
}

}  // namespace ripieno::graph

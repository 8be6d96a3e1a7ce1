#include "topo/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "command.h"
#include "device/device.h"
#include "graph/graph_xml.h"
#include "topo/domain.h"
#include "topo/read_system.h"

namespace ripieno::tool {
namespace {

topo::Document this_machine() {
  topo::DetectionRequest request{.devices = topo::nvml_devices(), .nets = topo::local_nets()};
  if (request.devices.empty()) {
    device::Backend& backend = device::backend();
    for (int ordinal = 0; ordinal < backend.device_count(); ++ordinal) {
      request.devices.push_back({.device = ordinal,
                                 .bus_id = backend.device(ordinal).bus_id(),
                                 .is_virtual = backend.name() == "host"});
    }
  }
  return topo::local_machine(request, {}, 0).document;
}

int count_gpus(const topo::Element& element) {
  int count = element.name == "gpu" ? 1 : 0;
  for (const topo::Element& child : element.children) count += count_gpus(child);
  return count;
}

}  // namespace

const graph::GraphSet* Subject::in_use() const {
  const std::optional<graph::GraphSet>& set = hosts > 1 ? inter : intra;
  return set ? &*set : nullptr;
}

void load_subject(const SubjectOptions& options, Subject& subject) {
  subject.document = options.file.empty() ? this_machine() : topo::load_document(options.file);
  subject.hosts = options.hosts;
  if (options.gpus > 0) {
    const int have = count_gpus(subject.document.root);
    if (options.gpus > have) {
      throw UsageError(fmt::format("--gpus {} asks for more GPUs than {} has: {}", options.gpus,
                                   subject.document.source, have));
    }
    subject.document = topo::keep_gpus(subject.document, options.gpus);
  }
  if (options.trays > 1) {
    subject.document = topo::repeat_in_domain(subject.document, options.trays);
  }
  subject.system = topo::read_system(subject.document);
  subject.paths.emplace(subject.system, topo::PathPolicy::from_parameters());
}

void search_subject(const SubjectOptions& options, Subject& subject) {
  // A graph file is for the scope in use; what the other one would be is searched.
  const graph::Scope in_use = subject.hosts > 1 ? graph::Scope::kInter : graph::Scope::kIntra;
  const auto graphs = [&](graph::Scope scope) {
    const auto search = graph::SearchOptions::from_parameters(scope);
    if (scope != in_use) return graph::search_graphs(*subject.paths, search);
    if (options.graph_file.empty()) return graph::graphs_for(*subject.paths, search, 0);
    return graph::graphs_from_xml(topo::load_document(options.graph_file), *subject.paths, search);
  };
  subject.intra = graphs(graph::Scope::kIntra);
  if (subject.paths->net_count() > 0) subject.inter = graphs(graph::Scope::kInter);
}

graph::JoinedGraphs join_subject(const Subject& subject) {
  // Ranks of a host in their own order, then the next host's.
  std::vector<int> order;
  for (const topo::NodeId gpu : subject.system.gpus()) {
    order.push_back(subject.system.rank_of(gpu));
  }
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<graph::HostGraphs> hosts(static_cast<std::size_t>(subject.hosts));
  const graph::GraphSet* set = subject.in_use();
  for (int host = 0; host < subject.hosts; ++host) {
    graph::HostGraphs& one = hosts[static_cast<std::size_t>(host)];
    for (const int rank : order) {
      const auto place = std::lower_bound(sorted.begin(), sorted.end(), rank) - sorted.begin();
      one.ranks.push_back(host * subject.gpu_count() + static_cast<int>(place));
    }
    if (set == nullptr) continue;
    one.ring = set->ring;
    one.tree = set->tree;
  }
  return graph::join_hosts(hosts);
}

}  // namespace ripieno::tool

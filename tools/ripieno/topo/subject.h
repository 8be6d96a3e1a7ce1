// What `ripieno topo` looks at: a machine from a file or this one, its paths, its graphs, and the
// same machine many times over.
#pragma once

#include <optional>
#include <string>

#include "graph/join.h"
#include "graph/search.h"
#include "topo/detect.h"
#include "topo/paths.h"

namespace ripieno::tool {

struct SubjectOptions {
  std::string file{};        ///< Empty: this machine.
  std::string graph_file{};  ///< Empty: search.
  int gpus = 0;              ///< 0: all.
  int hosts = 1;
  int trays = 1;  ///< Hosts that NVLink joins into one domain.
};

struct Subject {
  topo::Document document{};
  topo::System system{};
  std::optional<topo::PathTable> paths{};
  int hosts = 1;
  std::optional<graph::GraphSet> intra{};
  std::optional<graph::GraphSet> inter{};  ///< Only where there is a network.

  /// The graphs that a communicator over all hosts would use; null if those need a network.
  [[nodiscard]] const graph::GraphSet* in_use() const;
  [[nodiscard]] int gpu_count() const { return static_cast<int>(system.gpus().size()); }
};

/// Reads or detects, and computes paths. The subject must not move afterwards.
void load_subject(const SubjectOptions& options, Subject& subject);
/// Searches the graphs of both scopes.
void search_subject(const SubjectOptions& options, Subject& subject);
/// Rings and trees over all hosts.
[[nodiscard]] graph::JoinedGraphs join_subject(const Subject& subject);

}  // namespace ripieno::tool

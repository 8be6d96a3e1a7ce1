// Graphs as files, in the format of NCCL_GRAPH_FILE and NCCL_GRAPH_DUMP_FILE: taken as written
// where somebody knows better than the search, and written for whoever wants to look.
#pragma once

#include "graph/search.h"
#include "topo/document.h"

namespace ripieno::graph {

/// The tree of a graph file. GPUs and cards stand with their device numbers.
[[nodiscard]] topo::Element graphs_to_xml(const GraphSet& set, const topo::System& system);

/// What a file says about this machine, for one scope. Graphs that the file does not have are
/// searched. Throws Error (ncclInvalidUsage), "file:line: reason": a device that is not there, a
/// GPU twice or missing in a channel.
[[nodiscard]] GraphSet graphs_from_xml(const topo::Document& document, const topo::PathTable& paths,
                                       const SearchOptions& options);

/// The graphs as the variables want them: from NCCL_GRAPH_FILE if it is set (errors name variable,
/// value and where it was set), else by search; written to NCCL_GRAPH_DUMP_FILE by rank
/// NCCL_GRAPH_DUMP_FILE_RANK.
[[nodiscard]] GraphSet graphs_for(const topo::PathTable& paths, const SearchOptions& options,
                                  int rank);

}  // namespace ripieno::graph

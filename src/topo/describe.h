// A machine in text, for logs and terminals: the tree of what hangs from what, the matrix of paths,
// and a drawing for Graphviz.
#pragma once

#include <string>

#include "topo/paths.h"

namespace ripieno::topo {

/// One line per thing, indented by what it hangs from, with the bandwidth of its link.
[[nodiscard]] std::string draw_tree(const System& system);
/// GPU to GPU and GPU to network: type and GB/s, with a legend of the types that occur.
[[nodiscard]] std::string draw_paths(const PathTable& paths);
/// One line per pair: may they access each other, and why.
[[nodiscard]] std::string draw_verdicts(const PathTable& paths);
/// Graphviz source.
[[nodiscard]] std::string draw_dot(const System& system);

}  // namespace ripieno::topo

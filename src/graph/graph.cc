#include "graph/graph.h"

namespace ripieno::graph {

std::string_view pattern_name(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::kBalancedTree:
      return "balanced_tree";
    case Pattern::kSplitTree:
      return "split_tree";
    case Pattern::kTree:
      return "tree";
    case Pattern::kRing:
      return "ring";
    case Pattern::kNvls:
      return "nvls";
    case Pattern::kCollnetDirect:
      return "collnet_direct";
  }
  return "unknown";
}

std::string_view purpose_name(Purpose purpose) noexcept {
  switch (purpose) {
    case Purpose::kRing:
      return "ring";
    case Purpose::kTree:
      return "tree";
    case Purpose::kCollnetChain:
      return "collnet_chain";
    case Purpose::kCollnetDirect:
      return "collnet_direct";
    case Purpose::kNvls:
      return "nvls";
  }
  return "unknown";
}

std::string_view scope_name(Scope scope) noexcept {
  return scope == Scope::kIntra ? "intra" : "inter";
}

std::string_view graph_name(Purpose purpose, Pattern pattern) noexcept {
  return purpose == Purpose::kCollnetChain ? purpose_name(purpose) : pattern_name(pattern);
}

}  // namespace ripieno::graph

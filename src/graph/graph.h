// What the search finds: channels, each a walk over the GPUs of one host (or NVLink domain), and
// what they carry. This is all that the cost model, the tuner and the connecting code need to know
// about a topology; none of them looks at the machine itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/path_type.h"

namespace ripieno::graph {

/// The shape of a channel. Numbers are NCCL's, as they stand in graph files.
enum class Pattern : std::uint8_t {
  kBalancedTree = 1,   ///< Chain; the network's traffic is shared by its first two GPUs.
  kSplitTree = 2,      ///< Chain; to the network from the second GPU, from it to the first.
  kTree = 3,           ///< Chain; the first GPU talks to the network both ways.
  kRing = 4,           ///< Every GPU once, then out to the network or back to the first.
  kNvls = 5,           ///< A head per channel; the NVSwitch reduces and multicasts for it.
  kCollnetDirect = 6,  ///< A head per channel; every GPU exchanges with every head.
};

/// What a graph is for; a CollNet chain has the shape of a tree.
enum class Purpose : std::uint8_t { kRing, kTree, kCollnetChain, kCollnetDirect, kNvls };

enum class Scope : std::uint8_t {
  kIntra,  ///< The communicator lives on this host or domain alone.
  kInter,  ///< There are others: channels start and end at a network card.
};

/// "ring", "balanced_tree", "collnet_chain" and so on.
[[nodiscard]] std::string_view pattern_name(Pattern pattern) noexcept;
[[nodiscard]] std::string_view purpose_name(Purpose purpose) noexcept;
[[nodiscard]] std::string_view scope_name(Scope scope) noexcept;
/// What users call the graph: its shape, except for a CollNet chain, which is named for its use.
[[nodiscard]] std::string_view graph_name(Purpose purpose, Pattern pattern) noexcept;

struct Channel {
  /// Positions in System::gpus(): the order of the walk, or the head followed by all others.
  std::vector<int> gpus{};
  int net_in = -1;  ///< Position in System::nets(); -1 inside a host.
  int net_out = -1;
};

struct Graph {
  Purpose purpose = Purpose::kRing;
  Pattern pattern = Pattern::kRing;
  Scope scope = Scope::kIntra;
  std::vector<Channel> channels{};
  double bw_intra = 0.0;  ///< GB/s of one channel between GPUs.
  double bw_inter = 0.0;  ///< GB/s of one channel to the network.
  topo::PathType type_intra = topo::PathType::kLocal;
  topo::PathType type_inter = topo::PathType::kLocal;
  bool same_channels = false;
  int cross_nic = 0;   ///< 0: no channel changes cards; 2: pairs of channels swap theirs.
  double bound = 0.0;  ///< No set of channels of this kind carries more in total, in GB/s.
  double search_ms = 0.0;
  std::int64_t steps = 0;      ///< Extensions tried: the same on every machine.
  bool stopped_early = false;  ///< The budget ended the search before it was exhausted.
  bool from_file = false;

  [[nodiscard]] double total() const noexcept {
    return static_cast<double>(channels.size()) * bw_intra;
  }
  /// Whether the bound proves that there is nothing better.
  [[nodiscard]] bool is_optimal() const noexcept { return total() >= bound * (1.0 - 1e-6); }
};

/// The graphs of a host, one for each purpose that makes sense there.
struct GraphSet {
  Graph ring{};
  Graph tree{};
  std::optional<Graph> collnet_chain{};
  std::optional<Graph> collnet_direct{};
  std::optional<Graph> nvls{};
};

}  // namespace ripieno::graph

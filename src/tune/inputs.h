// What the cost model needs to know of a communicator: how many ranks and hosts, and the few
// numbers of each graph. Made from graphs here, or by hand in tests.
#pragma once

#include <optional>
#include <span>

#include "graph/graph.h"
#include "topo/bandwidth.h"
#include "topo/paths.h"
#include "tune/constants.h"

namespace ripieno::tune {

/// The numbers of a graph; `channels` as found, before they are doubled.
struct Tracks {
  graph::Pattern pattern = graph::Pattern::kRing;
  int channels = 0;
  double bw_intra = 0.0;
  double bw_inter = 0.0;
  topo::PathType type_intra = topo::PathType::kLocal;
  topo::PathType type_inter = topo::PathType::kLocal;
  bool same_channels = false;
};

struct CostInputs {
  int ranks = 1;
  int hosts = 1;  ///< Or NVLink domains: whatever the graphs span.
  int compute_capability = 0;
  topo::CpuVendor cpu_vendor = topo::CpuVendor::kUnknown;
  Tracks ring{};
  Tracks tree{};
  std::optional<Tracks> collnet_direct{};
  std::optional<Tracks> collnet_chain{};
  std::optional<Tracks> nvls{};
  /// Rings and trees after joining: twice what was found, or four times.
  int channels = 1;
  int nvls_channels = 0;
  double net_latency_us = 0.0;
  bool collnet = false;        ///< The network reduces and the communicator wants it.
  bool direct = false;         ///< All ranks reach each other's memory.
  double exchange_gbps = 0.0;  ///< What a rank sends while all send to all; 0: memory decides.

  [[nodiscard]] Family family() const noexcept { return family_of(compute_capability); }
  [[nodiscard]] int ranks_per_host() const noexcept { return hosts > 0 ? ranks / hosts : ranks; }
};

/// For `hosts` hosts like this one (or NVLink domains); `set` is of the scope that is used then.
[[nodiscard]] CostInputs inputs_of(const topo::PathTable& paths, const graph::GraphSet& set,
                                   int hosts);
/// For ranks of the host backend on one host.
[[nodiscard]] CostInputs host_inputs(int ranks) noexcept;

/// Rings and trees that run at once: doubled, and doubled again where fast links would otherwise
/// be left idle.
[[nodiscard]] int joined_channels(const Tracks& ring, int compute_capability, int hosts) noexcept;

/// GB/s that each GPU sends when all exchange with all at the same speed, from the links alone.
[[nodiscard]] double exchange_gbps(const topo::PathTable& paths);

}  // namespace ripieno::tune

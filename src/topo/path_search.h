// The best way from one node to all others, before any policy: over NVLink alone, through one other
// GPU, or over PCI, chip-to-chip links and the links between CPUs.
#pragma once

#include <vector>

#include "topo/path_type.h"
#include "topo/system.h"

namespace ripieno::topo {

struct Path {
  PathType type = PathType::kDisconnected;
  double gbps = 0.0;
  std::vector<LinkId> links{};
  NodeId through = kNoNode;  ///< The GPU or device that passes data on (NVB, PXN).

  /// Links, as NCCL counts hops: a GPU's own device is one.
  [[nodiscard]] int hops() const noexcept { return static_cast<int>(links.size()); }
  [[nodiscard]] bool exists() const noexcept { return type != PathType::kDisconnected; }
};

/// Paths from `source` to every node, by node id.
[[nodiscard]] std::vector<Path> paths_from(const System& system, NodeId source, bool nvlink_bridge);

/// One path after the other; the type is the farther one of both and `least`.
[[nodiscard]] Path concatenate(const Path& first, const Path& second, PathType least);

}  // namespace ripieno::topo

// What the variables allow: how near devices must be for peer access, how near a network card must
// be to touch device memory, whether third GPUs pass data on.
#pragma once

#include <optional>
#include <string>

#include "topo/path_type.h"

namespace ripieno::topo {

struct PathPolicy {
  /// Farthest path over which GPUs access each other's memory; unset: PXB, or SYS for a pair of
  /// GPUs on an AMD machine that has no more.
  std::optional<PathType> peer_level{};
  /// Farthest path over which a network card accesses device memory; unset: PXB, or P2C.
  std::optional<PathType> rdma_level{};
  bool shared_memory = true;
  bool network_inside_host = true;
  bool nvlink_bridge = true;
  bool pxn = true;
  bool pxn_over_c2c = true;
  bool rdma_over_c2c = true;
  /// Where the two levels come from, for reasons given in words.
  std::string peer_source = "default";
  std::string rdma_source = "default";

  /// From NCCL_P2P_LEVEL, NCCL_P2P_DISABLE, NCCL_NET_GDR_LEVEL, NCCL_NVB_DISABLE and so on. Unknown
  /// words are warned about and ignored.
  [[nodiscard]] static PathPolicy from_parameters();
};

}  // namespace ripieno::topo

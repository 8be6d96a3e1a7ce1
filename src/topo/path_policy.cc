#include "topo/path_policy.h"

#include "base/log.h"
#include "base/parameters.h"

namespace ripieno::topo {
namespace {

constexpr StringParameter kPeerLevel{"NCCL_P2P_LEVEL"};
constexpr BoolParameter kPeerDisable{"NCCL_P2P_DISABLE"};
constexpr StringParameter kRdmaLevel{"NCCL_NET_GDR_LEVEL"};
constexpr BoolParameter kRdmaC2c{"NCCL_NET_GDR_C2C"};
constexpr BoolParameter kBridgeDisable{"NCCL_NVB_DISABLE"};
constexpr BoolParameter kPxnDisable{"NCCL_PXN_DISABLE"};
constexpr BoolParameter kPxnC2c{"NCCL_PXN_C2C"};
constexpr BoolParameter kShmDisable{"NCCL_SHM_DISABLE"};
constexpr BoolParameter kNetDisableIntra{"NCCL_NET_DISABLE_INTRA"};

std::optional<PathType> level_of(const StringParameter& parameter, const char* name) {
  if (!parameter.is_set()) return std::nullopt;
  const std::optional<PathType> level = parse_path_type(parameter.value());
  if (!level) {
    log_warn(log_subsystem::kEnv,
             "{}='{}' is no type of path (LOC, NVL, PIX, PXB, PHB, SYS); "
             "the default holds",
             name, parameter.value());
  }
  return level;
}

}  // namespace

PathPolicy PathPolicy::from_parameters() {
  PathPolicy policy;
  policy.peer_level = level_of(kPeerLevel, "NCCL_P2P_LEVEL");
  if (policy.peer_level) policy.peer_source = "NCCL_P2P_LEVEL";
  if (kPeerDisable.value()) {
    policy.peer_level = PathType::kLocal;
    policy.peer_source = "NCCL_P2P_DISABLE";
  }
  policy.rdma_level = level_of(kRdmaLevel, "NCCL_NET_GDR_LEVEL");
  if (policy.rdma_level) policy.rdma_source = "NCCL_NET_GDR_LEVEL";
  policy.rdma_over_c2c = kRdmaC2c.value();
  policy.nvlink_bridge = !kBridgeDisable.value();
  policy.pxn = !kPxnDisable.value();
  policy.pxn_over_c2c = kPxnC2c.value();
  policy.shared_memory = !kShmDisable.value();
  policy.network_inside_host = !kNetDisableIntra.value();
  return policy;
}

}  // namespace ripieno::topo

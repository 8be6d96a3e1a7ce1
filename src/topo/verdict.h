// The two questions people ask for months about: may these GPUs access each other, may this card
// access this GPU. Answered from the path alone and the policy, with the reason.
#pragma once

#include "topo/paths.h"

namespace ripieno::topo {

[[nodiscard]] Verdict judge_peer_access(const System& system, const PathPolicy& policy, NodeId from,
                                        NodeId to, const Path& path);
[[nodiscard]] Verdict judge_direct_rdma(const System& system, const PathPolicy& policy, NodeId gpu,
                                        NodeId net, const Path& path);

}  // namespace ripieno::topo

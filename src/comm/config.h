// What a user asked of a communicator: an ncclConfig_t of any version, checked field by field, with
// defaults filled in and environment variables applied.
#pragma once

#include <nccl.h>

#include <optional>
#include <string>

namespace ripieno::comm {

struct Config {
  bool blocking = true;
  int cga_cluster_size = 4;
  int min_ctas = 1;
  int max_ctas = 64;
  std::string net_name;
  bool split_share = false;
  std::optional<int> traffic_class;
  std::string comm_name;
  bool collnet_enable = false;
  int cta_policy = NCCL_CTA_POLICY_DEFAULT;
  bool shrink_share = false;
  std::optional<int> nvls_ctas;
  std::optional<int> channels_per_net_peer;
  bool nvlink_centric_sched = false;
};

/// Reads `user` (nullptr: all defaults). Only `user->size` bytes are looked at, whatever that is,
/// and fields newer than `user->version` count as not set. Throws Error (ncclInvalidArgument)
/// naming the field, its value and what is valid.
///
/// A communicator made from another one is given `parent`: with `user` nullptr it is configured
/// like that one, else it takes over whether calls block where the user does not say.
[[nodiscard]] Config parse_config(const ncclConfig_t* user, const Config* parent = nullptr);

}  // namespace ripieno::comm

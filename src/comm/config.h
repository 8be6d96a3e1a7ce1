// What a user asked of a communicator: an ncclConfig_t of any version, checked field by field, with
// defaults filled in and environment variables applied.
#pragma once

#include <nccl.h>

#include <optional>
#include <string>
#include <vector>

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
  // Newer than ncclConfig_t of this header; see ncclConfig_v23000.
  int graph_usage_mode = 2;
  int rma_contexts = 1;
  std::optional<int> max_p2p_peers;
  bool graph_stream_ordering = true;

  /// "minCTAs by NCCL_MIN_CTAS (environment)": what did not come from the program.
  std::vector<std::string> overrides;
};

/// One line for the log.
[[nodiscard]] std::string describe(const Config& config);

/// Reads `user` (nullptr: all defaults). Only `user->size` bytes are looked at, whatever that is,
/// and fields newer than `user->version` count as not set. Throws Error (ncclInvalidArgument)
/// naming the field, its value and what is valid.
///
/// A communicator made from another one is given `parent`: with `user` nullptr it is configured
/// like that one, else it takes over whether calls block where the user does not say.
[[nodiscard]] Config parse_config(const ncclConfig_t* user, const Config* parent = nullptr);

}  // namespace ripieno::comm

// What the variables say about channels, threads and thresholds.
#pragma once

#include <array>
#include <optional>

#include "tune/algorithm.h"

namespace ripieno::tune {

struct Limits {
  int min_channels = 1;
  int max_channels = 64;
  std::optional<int> threads{};        ///< NCCL_NTHREADS
  std::optional<int> ll128_threads{};  ///< NCCL_LL128_NTHREADS
  /// Bytes a thread below which fewer channels are used: tree, then ring, by protocol. Unset: the
  /// defaults, which for rings of LL grow with the number of ranks.
  std::optional<std::array<std::array<int, kProtocols>, 2>> thresholds{};
  int pat = 2;                              ///< NCCL_PAT_ENABLE: 0 no, 1 yes, 2 where it pays.
  std::optional<double> net_overhead_us{};  ///< NCCL_NET_OVERHEAD
  bool ll128_over_c2c = true;               ///< NCCL_LL128_C2C
  std::optional<int> nvls_channels{};       ///< NCCL_NVLS_NCHANNELS

  /// `min_channels` and `max_channels` are what the communicator was configured with; variables win
  /// over them, newer names over older ones. What cannot be used is warned about and left out.
  [[nodiscard]] static Limits from_parameters(int min_channels = 1, int max_channels = 64);
};

}  // namespace ripieno::tune

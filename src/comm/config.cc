// Reading ncclConfig_t. A program compiled against an older header hands over a shorter struct:
// only the bytes that it says it has are read, the rest keeps "not set".
#include "comm/config.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parameters.h"

namespace ripieno::comm {
namespace {

constexpr BoolParameter kBlocking{"NCCL_COMM_BLOCKING"};
constexpr IntParameter kMinCtas{"NCCL_MIN_CTAS"};
constexpr IntParameter kMaxCtas{"NCCL_MAX_CTAS"};

constexpr unsigned kMagic = 0xcafebeef;
/// size, magic and version: what every version of the struct starts with.
constexpr std::size_t kHeaderBytes = offsetof(ncclConfig_t, blocking);

constexpr unsigned version(unsigned major, unsigned minor, unsigned patch) {
  return NCCL_VERSION(major, minor, patch);
}

ncclConfig_t unset_config() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return config;
}

/// The user's struct in today's layout.
ncclConfig_t read_struct(const ncclConfig_t* user) {
  ncclConfig_t config = unset_config();
  std::size_t size = 0;
  std::memcpy(&size, user, sizeof size);
  if (size < kHeaderBytes) {
    throw Error(ncclInvalidArgument,
                "config.size is {}, smaller than the {} bytes every version has; start from "
                "NCCL_CONFIG_INITIALIZER",
                size, kHeaderBytes);
  }
  unsigned magic = 0;
  std::memcpy(&magic, reinterpret_cast<const std::byte*>(user) + offsetof(ncclConfig_t, magic),
              sizeof magic);
  if (magic != kMagic) {
    throw Error(ncclInvalidArgument,
                "config.magic is {:#x} instead of {:#x}; start from NCCL_CONFIG_INITIALIZER", magic,
                kMagic);
  }
  std::memcpy(&config, user, std::min(size, sizeof config));
  return config;
}

/// Fields that the caller's header did not have yet hold whatever was in memory there.
void drop_newer_fields(ncclConfig_t& config) {
  const ncclConfig_t unset = unset_config();
  if (config.version < version(2, 14, 0)) {
    config.blocking = unset.blocking;
  }
  if (config.version < version(2, 17, 0)) {
    config.cgaClusterSize = unset.cgaClusterSize;
    config.minCTAs = unset.minCTAs;
    config.maxCTAs = unset.maxCTAs;
    config.netName = unset.netName;
  }
  if (config.version < version(2, 25, 0)) {
    config.trafficClass = unset.trafficClass;
  }
  if (config.version < version(2, 27, 0)) {
    config.collnetEnable = unset.collnetEnable;
    config.CTAPolicy = unset.CTAPolicy;
    config.shrinkShare = unset.shrinkShare;
    config.nvlsCTAs = unset.nvlsCTAs;
  }
  if (config.version < version(2, 28, 0)) {
    config.nChannelsPerNetPeer = unset.nChannelsPerNetPeer;
    config.nvlinkCentricSched = unset.nvlinkCentricSched;
  }
}

bool is_set(int value) {
  return value != NCCL_CONFIG_UNDEF_INT;
}

bool flag(const char* name, int value, bool otherwise) {
  if (!is_set(value)) {
    return otherwise;
  }
  if (value != 0 && value != 1) {
    throw Error(ncclInvalidArgument, "config.{} is {}; {} must be 0 or 1", name, value, name);
  }
  return value == 1;
}

int number(const char* name, int value, int least, int most, int otherwise) {
  if (!is_set(value)) {
    return otherwise;
  }
  if (value < least || value > most) {
    throw Error(ncclInvalidArgument, "config.{} is {}; valid values are {} to {}", name, value,
                least, most);
  }
  return value;
}

std::optional<int> maybe_number(const char* name, int value, int least, int most) {
  if (!is_set(value)) {
    return std::nullopt;
  }
  return number(name, value, least, most, least);
}

/// The environment wins over what the program asks for.
void apply_environment(Config& config) {
  if (kBlocking.is_set()) {
    config.blocking = kBlocking.value();
  }
  if (kMinCtas.is_set()) {
    config.min_ctas = static_cast<int>(kMinCtas.value());
  }
  if (kMaxCtas.is_set()) {
    config.max_ctas = static_cast<int>(kMaxCtas.value());
  }
}

}  // namespace

Config parse_config(const ncclConfig_t* user, const Config* parent) {
  if (user == nullptr && parent != nullptr) {
    Config config = *parent;
    apply_environment(config);
    return config;
  }
  ncclConfig_t given = unset_config();
  if (user != nullptr) {
    given = read_struct(user);
    drop_newer_fields(given);
  }
  constexpr int kMost = 1 << 30;
  Config config;
  config.blocking =
      flag("blocking", given.blocking, parent != nullptr ? parent->blocking : config.blocking);
  config.cga_cluster_size =
      number("cgaClusterSize", given.cgaClusterSize, 0, 8, config.cga_cluster_size);
  config.min_ctas = number("minCTAs", given.minCTAs, 1, kMost, config.min_ctas);
  config.max_ctas =
      number("maxCTAs", given.maxCTAs, 1, kMost, std::max(config.max_ctas, config.min_ctas));
  if (config.min_ctas > config.max_ctas) {
    throw Error(ncclInvalidArgument,
                "config.minCTAs is {} and config.maxCTAs is {}; minCTAs must not be larger",
                config.min_ctas, config.max_ctas);
  }
  config.net_name = given.netName != nullptr ? given.netName : "";
  config.split_share = flag("splitShare", given.splitShare, config.split_share);
  config.traffic_class = maybe_number("trafficClass", given.trafficClass, 0, kMost);
  config.comm_name = given.commName != nullptr ? given.commName : "";
  config.collnet_enable = flag("collnetEnable", given.collnetEnable, config.collnet_enable);
  config.cta_policy = number("CTAPolicy", given.CTAPolicy, 0, 3, config.cta_policy);
  config.shrink_share = flag("shrinkShare", given.shrinkShare, config.shrink_share);
  config.nvls_ctas = maybe_number("nvlsCTAs", given.nvlsCTAs, 1, kMost);
  config.channels_per_net_peer =
      maybe_number("nChannelsPerNetPeer", given.nChannelsPerNetPeer, 1, 64);
  config.nvlink_centric_sched =
      flag("nvlinkCentricSched", given.nvlinkCentricSched, config.nvlink_centric_sched);
  apply_environment(config);
  return config;
}

}  // namespace ripieno::comm

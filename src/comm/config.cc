// Reading ncclConfig_t. A program compiled against an older header hands over a shorter struct:
// only the bytes that it says it has are read, the rest keeps "not set".
#include "comm/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#define RIPIENO_NEWER_API
#include "ripieno/nccl_newer.h"

namespace ripieno::comm {
namespace {

constexpr BoolParameter kBlocking{"NCCL_COMM_BLOCKING"};
constexpr IntParameter kMinCtas{"NCCL_MIN_CTAS"};
constexpr IntParameter kMaxCtas{"NCCL_MAX_CTAS"};
constexpr IntParameter kMinChannels{"NCCL_MIN_NCHANNELS"};
constexpr IntParameter kMaxChannels{"NCCL_MAX_NCHANNELS"};
constexpr IntParameter kMinRings{"NCCL_MIN_NRINGS"};
constexpr IntParameter kMaxRings{"NCCL_MAX_NRINGS"};
constexpr IntParameter kClusterSize{"NCCL_CGA_CLUSTER_SIZE"};
constexpr StringParameter kNet{"NCCL_NET"};
constexpr BoolParameter kSplitShare{"NCCL_COMM_SPLIT_SHARE_RESOURCES"};
constexpr BoolParameter kShrinkShare{"NCCL_COMM_SHRINK_SHARE_RESOURCES"};
constexpr BoolParameter kCollnet{"NCCL_COLLNET_ENABLE"};
constexpr StringParameter kCtaPolicy{"NCCL_CTA_POLICY"};
constexpr IntParameter kNvlsChannels{"NCCL_NVLS_NCHANNELS"};
constexpr IntParameter kChannelsPerNetPeer{"NCCL_NCHANNELS_PER_NET_PEER"};
constexpr BoolParameter kNvlinkCentric{"NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE"};

constexpr unsigned kMagic = 0xcafebeef;
/// size, magic and version: what every version of the struct starts with.
constexpr std::size_t kHeaderBytes = offsetof(ncclConfig_t, blocking);

constexpr unsigned version(unsigned major, unsigned minor, unsigned patch) {
  return NCCL_VERSION(major, minor, patch);
}

/// The newest layout there is: older ones are its beginning.
using AnyConfig = ncclConfig_v23000;
static_assert(offsetof(AnyConfig, graphUsageMode) == sizeof(ncclConfig_t));

AnyConfig unset_config() {
  const ncclConfig_t older = NCCL_CONFIG_INITIALIZER;
  AnyConfig config{};
  std::memcpy(static_cast<void*>(&config), &older, sizeof older);
  config.graphUsageMode = NCCL_CONFIG_UNDEF_INT;
  config.numRmaCtx = NCCL_CONFIG_UNDEF_INT;
  config.maxP2pPeers = NCCL_CONFIG_UNDEF_INT;
  config.graphStreamOrdering = NCCL_CONFIG_UNDEF_INT;
  return config;
}

/// The user's struct in today's layout.
AnyConfig read_struct(const ncclConfig_t* user) {
  AnyConfig config = unset_config();
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
  // A size that ends inside a field does not count for that field.
  const std::size_t whole = std::min(size, sizeof config) / sizeof(int) * sizeof(int);
  std::memcpy(static_cast<void*>(&config), user, whole);
  if (whole < offsetof(AnyConfig, netName) + sizeof config.netName) {
    config.netName = nullptr;
  }
  if (whole < offsetof(AnyConfig, commName) + sizeof config.commName) {
    config.commName = nullptr;
  }
  return config;
}

/// Fields that the caller's header did not have yet hold whatever was in memory there.
void drop_newer_fields(AnyConfig& config) {
  const AnyConfig unset = unset_config();
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
  if (config.version < version(2, 29, 0)) {
    config.graphUsageMode = unset.graphUsageMode;
    config.numRmaCtx = unset.numRmaCtx;
  }
  if (config.version < version(2, 30, 0)) {
    config.maxP2pPeers = unset.maxP2pPeers;
  }
  if (config.version < version(2, 30, 5)) {
    config.graphStreamOrdering = unset.graphStreamOrdering;
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

/// "EFFICIENCY|ZERO" as flags. Unknown names are left out with a WARN.
int read_cta_policy(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, int>, 3> kNames{
      {{"DEFAULT", NCCL_CTA_POLICY_DEFAULT},
       {"EFFICIENCY", NCCL_CTA_POLICY_EFFICIENCY},
       {"ZERO", NCCL_CTA_POLICY_ZERO}}};
  int policy = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char letter) { return std::toupper(letter); });
    const auto known = std::ranges::find(kNames, name, &std::pair<std::string_view, int>::first);
    if (known == kNames.end()) {
      log_warn(log_subsystem::kEnv, "NCCL_CTA_POLICY: '{}' is none of DEFAULT, EFFICIENCY, ZERO",
               name);
    } else {
      policy |= known->second;
    }
    begin = end + 1;
  }
  return policy;
}

/// Applies one variable if it is set, and remembers that.
template <typename Parameter, typename Apply>
void override_by(Config& config, const char* field, const Parameter& parameter, Apply apply) {
  if (parameter.is_set()) {
    apply(parameter.value());
    config.overrides.push_back(
        fmt::format("{} by {} ({})", field, parameter.name(), parameter.source()));
  }
}

/// Environment and configuration files win over what the program asks for.
void apply_environment(Config& config) {
  config.overrides.clear();
  const auto into = [](auto& field) {
    return [&field](const auto& value) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(value);
    };
  };
  const auto into_number = [](std::optional<int>& field) {
    return [&field](std::int64_t value) { field = static_cast<int>(value); };
  };
  override_by(config, "blocking", kBlocking, into(config.blocking));
  override_by(config, "cgaClusterSize", kClusterSize, into(config.cga_cluster_size));
  // The newest name has the last word.
  for (const IntParameter& least : {kMinRings, kMinChannels, kMinCtas}) {
    override_by(config, "minCTAs", least, into(config.min_ctas));
  }
  for (const IntParameter& most : {kMaxRings, kMaxChannels, kMaxCtas}) {
    override_by(config, "maxCTAs", most, into(config.max_ctas));
  }
  if (config.min_ctas > config.max_ctas) {
    log_warn(log_subsystem::kEnv, "minCTAs is {} and maxCTAs {} ({}); both are {} now",
             config.min_ctas, config.max_ctas, fmt::join(config.overrides, ", "), config.max_ctas);
    config.min_ctas = config.max_ctas;
  }
  override_by(config, "netName", kNet, into(config.net_name));
  override_by(config, "splitShare", kSplitShare, into(config.split_share));
  override_by(config, "shrinkShare", kShrinkShare, into(config.shrink_share));
  override_by(config, "collnetEnable", kCollnet, into(config.collnet_enable));
  override_by(config, "CTAPolicy", kCtaPolicy,
              [&](const std::string& text) { config.cta_policy = read_cta_policy(text); });
  override_by(config, "nvlsCTAs", kNvlsChannels, into_number(config.nvls_ctas));
  override_by(config, "nChannelsPerNetPeer", kChannelsPerNetPeer,
              into_number(config.channels_per_net_peer));
  override_by(config, "nvlinkCentricSched", kNvlinkCentric, into(config.nvlink_centric_sched));
}

std::string text_of(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "-";
}
std::string text_of(const std::string& value) {
  return value.empty() ? "-" : value;
}

}  // namespace

Config parse_config(const ncclConfig_t* user, const Config* parent) {
  if (user == nullptr && parent != nullptr) {
    Config config = *parent;
    apply_environment(config);
    return config;
  }
  AnyConfig given = unset_config();
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
  config.graph_usage_mode =
      number("graphUsageMode", given.graphUsageMode, 0, 2, config.graph_usage_mode);
  config.rma_contexts = number("numRmaCtx", given.numRmaCtx, 0, kMost, config.rma_contexts);
  config.max_p2p_peers = maybe_number("maxP2pPeers", given.maxP2pPeers, 1, kMost);
  // Where graphs are mixed with other work, order cannot be given up.
  config.graph_stream_ordering =
      flag("graphStreamOrdering", given.graphStreamOrdering, config.graph_stream_ordering) ||
      config.graph_usage_mode == 2;
  apply_environment(config);
  return config;
}

std::string describe(const Config& config) {
  std::string text = fmt::format(
      "blocking {:d}, cgaClusterSize {}, minCTAs {}, maxCTAs {}, netName {}, splitShare {:d}, "
      "trafficClass {}, commName {}, collnetEnable {:d}, CTAPolicy {}, shrinkShare {:d}, nvlsCTAs "
      "{}, nChannelsPerNetPeer {}, nvlinkCentricSched {:d}, graphUsageMode {}, numRmaCtx {}, "
      "maxP2pPeers {}, graphStreamOrdering {:d}",
      config.blocking, config.cga_cluster_size, config.min_ctas, config.max_ctas,
      text_of(config.net_name), config.split_share, text_of(config.traffic_class),
      text_of(config.comm_name), config.collnet_enable, config.cta_policy, config.shrink_share,
      text_of(config.nvls_ctas), text_of(config.channels_per_net_peer), config.nvlink_centric_sched,
      config.graph_usage_mode, config.rma_contexts, text_of(config.max_p2p_peers),
      config.graph_stream_ordering);
  if (!config.overrides.empty()) {
    text += fmt::format("; set from outside: {}", fmt::join(config.overrides, ", "));
  }
  return text;
}

}  // namespace ripieno::comm

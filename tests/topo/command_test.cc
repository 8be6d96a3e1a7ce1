// `ripieno topo` from its arguments to what it prints.
#include "command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "topo/machines.h"

namespace ripieno::tool {
namespace {

namespace machines = topo::testing;

struct Outcome {
  int code = 0;
  std::string text{};
};

Outcome run(std::vector<std::string> words) {
  words.insert(words.begin(), "topo");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::testing::internal::CaptureStdout();
  Outcome outcome;
  try {
    outcome.code = topo_command(static_cast<int>(words.size()), arguments.data());
  } catch (...) {
    ::testing::internal::GetCapturedStdout();
    throw;
  }
  outcome.text = ::testing::internal::GetCapturedStdout();
  return outcome;
}

TEST(TopoCommand, DrawsThisMachine) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_NE(outcome.text.find("NUMA 0"), std::string::npos);
  EXPECT_NE(outcome.text.find("GPU 0"), std::string::npos);
}

TEST(TopoCommand, TellsEverythingAsJson) {
  const Outcome outcome =
      run({"--file", machines::machine_file("dgx-h100"), "--hosts", "2", "--json"});
  const auto json = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(json["gpus"].size(), 8U);
  EXPECT_EQ(json["joined"]["ranks"], 16);
  EXPECT_EQ(json["paths"]["gpu_to_net"][0][1]["type"], "PXN");
  int rings = 0;
  for (const auto& graph : json["graphs"]) {
    if (graph["pattern"] != "ring") continue;
    ++rings;
    EXPECT_EQ(graph["paths"].size(), graph["channels"].get<std::size_t>());
    EXPECT_GE(graph["bound"].get<double>() + 1e-6, graph["total"].get<double>());
  }
  EXPECT_EQ(rings, 2) << "one inside a host, one between hosts";
}

TEST(TopoCommand, PrintsWhatIsAskedFor) {
  const std::string file = machines::machine_file("dgx1v");
  EXPECT_NE(run({"--file", file, "--paths"}).text.find("NVB"), std::string::npos);
  EXPECT_NE(run({"--file", file, "--graphs"}).text.find("ring: 6 channels"), std::string::npos);
  EXPECT_NE(run({"--file", file, "--verdicts"}).text.find("peer access"), std::string::npos);
  EXPECT_TRUE(run({"--file", file, "--dot"}).text.starts_with("graph machine {"));
  EXPECT_TRUE(run({"--file", file, "--xml"}).text.starts_with("<system"));
  EXPECT_NE(run({"--file", file, "--gpus", "4", "--hosts", "3", "--graphs"}).text.find("12 ranks"),
            std::string::npos);
}

TEST(TopoCommand, GraphsGoToAFileAndComeBack) {
  const std::string machine = machines::machine_file("azure-ndv2");
  const auto file = std::filesystem::temp_directory_path() /
                    ("ripieno-graphs-" + std::to_string(::getpid()) + ".xml");
  EXPECT_EQ(run({"--file", machine, "--write-graphs", file}).code, kExitOk);
  const Outcome again = run({"--file", machine, "--graph-file", file, "--graphs"});
  EXPECT_NE(again.text.find("from a file"), std::string::npos);
  std::filesystem::remove(file);
}

TEST(TopoCommand, LintListsFaultsByLine) {
  EXPECT_EQ(run({"lint", machines::machine_file("dgx-h100")}).code, kExitOk);
  const auto file = std::filesystem::temp_directory_path() /
                    ("ripieno-lint-" + std::to_string(::getpid()) + ".xml");
  std::ofstream(file) << "<system>\n<cpu numaid='0'>\n<pci/>\n<pci busid='?'/></cpu></system>";
  const Outcome outcome = run({"lint", file});
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_NE(outcome.text.find(":3: error: <pci> has no busid"), std::string::npos);
  EXPECT_NE(outcome.text.find(":4: error:"), std::string::npos);
  EXPECT_NE(outcome.text.find("2 errors"), std::string::npos);
  std::filesystem::remove(file);
}

TEST(TopoCommand, WhatMakesNoSenseIsAUsageError) {
  EXPECT_THROW(run({"--file", machines::machine_file("dgx1v"), "--gpus", "99"}), UsageError);
  EXPECT_THROW(run({"--grafs"}), UsageError);
}

}  // namespace
}  // namespace ripieno::tool

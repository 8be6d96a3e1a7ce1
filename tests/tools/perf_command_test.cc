// `ripieno perf` end to end: the table, the JSON, exit codes, and every collective, type and
// operator through real ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "child.h"

namespace ripieno::test {
namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& table) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words),
                      std::istream_iterator<std::string>());
  }
  return rows;
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void expect_all_right(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("# Out of bounds values : 0 OK"), std::string::npos)
      << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

TEST(PerfCommand, PrintsOneRowASize) {
  const Outcome outcome = run_command(
      {"perf", "all_reduce", "--procs", "2", "-b", "8", "-e", "64K", "-f", "8", "-n", "3"});
  expect_all_right(outcome);
  const auto rows = rows_of(outcome.out);
  ASSERT_EQ(rows.size(), 5U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 13U);
    EXPECT_EQ(row[2], "float");
    EXPECT_EQ(row[3], "sum");
    EXPECT_EQ(row[4], "-1");
    EXPECT_EQ(row[8], "0");
    EXPECT_EQ(row[12], "0");
  }
  EXPECT_EQ(rows.front()[0], "8");
  EXPECT_EQ(rows.front()[1], "2");
  EXPECT_EQ(rows.back()[0], "32768");
}

TEST(PerfCommand, RunsInOneProcessWithOneRank) {
  expect_all_right(run_command({"perf", "all_reduce", "-b", "1K", "-e", "1K", "-n", "2"}));
}

class PerfOfCollective : public testing::TestWithParam<const char*> {};

/// Sizes in one line, across the smallest, an odd one, and one of several chunks.
const std::vector<std::string> kSizes = {"-b", "4", "-e", "3000004", "-i", "1000000", "-n", "2"};

TEST_P(PerfOfCollective, IsRightBetweenProcesses) {
  expect_all_right(run_command(with({"perf", GetParam(), "--procs", "3"}, kSizes)));
}

TEST_P(PerfOfCollective, IsRightBetweenThreads) {
  expect_all_right(run_command(with({"perf", GetParam(), "-t", "3"}, kSizes)));
}

TEST_P(PerfOfCollective, IsRightBetweenDevicesOfOneThread) {
  expect_all_right(run_command(with({"perf", GetParam(), "-g", "3"}, kSizes)));
}

TEST_P(PerfOfCollective, IsRightWithEveryRoot) {
  expect_all_right(
      run_command({"perf", GetParam(), "-t", "2", "-r", "all", "-b", "96", "-e", "96", "-n", "2"}));
}

TEST_P(PerfOfCollective, IsRightAsAGraph) {
  expect_all_right(
      run_command({"perf", GetParam(), "-t", "2", "-G", "3", "-b", "64K", "-e", "64K", "-n", "2"}));
}

INSTANTIATE_TEST_SUITE_P(Collectives, PerfOfCollective,
                         testing::Values("all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                         "reduce", "alltoall", "gather", "scatter", "sendrecv"),
                         [](const auto& collective) { return std::string(collective.param); });

TEST(PerfCommand, IsRightForEveryTypeAndOperator) {
  const Outcome outcome = run_command({"perf", "all_reduce", "--procs", "3", "-b", "5000", "-e",
                                       "5000", "-d", "all", "-o", "all", "-n", "1"});
  expect_all_right(outcome);
  EXPECT_EQ(rows_of(outcome.out).size(), 72U);
}

TEST(PerfCommand, MixesProcessesThreadsAndDevices) {
  const Outcome outcome =
      run_command({"perf", "all_reduce", "--procs", "2",  "-t", "2",  "-g", "2",  "-b", "1K", "-e",
                   "1K",   "-n",         "2",       "-p", "1",  "-m", "2",  "-z", "1",  "-a", "3"});
  expect_all_right(outcome);
  EXPECT_NE(outcome.out.find("# ranks: 8 = processes 2 x threads 2 x devices 2"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("#  Rank   7 on "), std::string::npos);
}

TEST(PerfCommand, RegistersBuffers) {
  for (const char* registration : {"1", "2"}) {
    expect_all_right(run_command(
        {"perf", "all_gather", "-t", "2", "-R", registration, "-b", "1M", "-e", "1M", "-n", "2"}));
  }
}

TEST(PerfCommand, LeavesChecksOutWhereTheyMeanNothing) {
  const Outcome unchecked =
      run_command({"perf", "all_reduce", "-c", "0", "-b", "8", "-e", "8", "-n", "1"});
  EXPECT_EQ(rows_of(unchecked.out).at(0).at(8), "N/A");
  const Outcome swapped =
      run_command({"perf", "alltoall", "-t", "2", "-b", "1K", "-e", "1K", "-n", "1"});
  EXPECT_EQ(rows_of(swapped.out).at(0).at(8), "0");
  EXPECT_EQ(rows_of(swapped.out).at(0).at(12), "N/A");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(PerfCommand, CountsTheElementsThatALibraryLoses) {
  const Outcome outcome =
      run_command({"perf", "all_reduce", "--procs", "3", "-b", "4000", "-e", "4000", "-n", "1"},
                  {{"LD_PRELOAD", FORGETFUL_NCCL}});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(rows_of(outcome.out).at(0).at(8), "3") << outcome.out;
  EXPECT_EQ(rows_of(outcome.out).at(0).at(12), "3") << outcome.out;
  EXPECT_NE(outcome.out.find("# Out of bounds values : 2 FAILED"), std::string::npos)
      << outcome.out;
}
#endif

TEST(PerfCommand, WritesJson) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("ripieno-perf-" + std::to_string(::getpid()) + ".json");
  expect_all_right(run_command({"perf", "all_reduce", "--procs", "2", "-b", "1K", "-e", "2K", "-f",
                                "2", "-n", "2", "-o", "max", "-J", path.string()}));
  std::ifstream file(path);
  const nlohmann::json document = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  ASSERT_EQ(document["rows"].size(), 2U);
  const nlohmann::json& row = document["rows"][1];
  EXPECT_EQ(row["bytes"], 2048);
  EXPECT_EQ(row["count"], 512);
  EXPECT_EQ(row["type"], "float");
  EXPECT_EQ(row["op"], "max");
  EXPECT_EQ(row["root"], -1);
  for (const char* half : {"out_of_place", "in_place"}) {
    for (const char* figure : {"time_us", "algbw_gbps", "busbw_gbps"}) {
      EXPECT_GT(row[half][figure].get<double>(), 0) << half << figure;
    }
    EXPECT_EQ(row[half]["wrong"], 0);
  }
  EXPECT_EQ(document["settings"]["collective"], "all_reduce");
  EXPECT_EQ(document["settings"]["ranks"], 2);
  for (const char* fact : {"host", "kernel", "processor", "cores", "memory_bytes"}) {
    EXPECT_TRUE(document["machine"].contains(fact)) << fact;
  }
  EXPECT_EQ(document["versions"]["nccl"], 22809);
  EXPECT_EQ(document["ranks"].size(), 2U);
}

TEST(PerfCommand, TellsAnUnwritableFileBeforeItMeasures) {
  const Outcome outcome = run_command({"perf", "all_reduce", "-J", "/nonexistent/out.json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "ripieno perf: cannot write /nonexistent/out.json: No such file or directory\n");
}

TEST(PerfCommand, TellsAFullDisk) {
  const Outcome outcome =
      run_command({"perf", "all_reduce", "-b", "8", "-e", "8", "-n", "1", "-J", "/dev/full"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("cannot write the results to /dev/full: No space left on device"),
            std::string::npos)
      << outcome.err;
}

TEST(PerfCommand, WrongUseEndsWith2AndOneLine) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"perf"},
                                                {"perf", "all_reduc"},
                                                {"perf", "all_reduce", "-d", "flaot"},
                                                {"perf", "all_reduce", "--iter", "2"},
                                                {"perf", "all_reduce", "-b", "eight"},
                                                {"perf", "reduce", "-r", "1"},
                                                {"perf", "reduce", "-r", "5", "--procs", "2"},
                                                {"perf", "all_reduce", "-n", "0"}}) {
    const Outcome outcome = run_command(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("ripieno perf: ")) << outcome.err;
  }
}

TEST(PerfCommand, HelpFitsTheTerminal) {
  for (const char* subcommand : {"perf", "run", "env", "version", "--help"}) {
    const Outcome outcome = run_command({subcommand, "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

}  // namespace
}  // namespace ripieno::test

// `ripieno tune` measures in processes of its own and writes a table that can be read again.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tune/measured.h"

namespace ripieno::tool {
namespace {

int run(const std::string& words) {
  const int status = std::system((std::string(RIPIENO_COMMAND) + " " + words).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TuneCommand, WritesATableThatIsUsed) {
  const std::string file = ::testing::TempDir() + "ripieno_tune_" + std::to_string(::getpid());
  ASSERT_EQ(run("tune --procs 2 --functions all_reduce,gather -e 128K -n 2 --rounds 1 -o " + file +
                " > /dev/null"),
            0);
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const tune::MeasuredTable table = tune::MeasuredTable::parse(text, file);
  ASSERT_EQ(table.series().size(), 4U);
  for (const auto& series : table.series()) {
    EXPECT_EQ(series.ranks, 2);
    EXPECT_GE(series.points.size(), 5U);
    const bool one_shot = series.algorithm == tune::Algorithm::kOneShot;
    EXPECT_EQ(series.points.back().first <= (64U << 10), one_shot);
  }
  // And a run with it works.
  EXPECT_EQ(run("perf all_reduce --procs 2 -b 8 -e 64K -f 16 -n 2 > /dev/null"), 0);
  ::setenv("RIPIENO_TUNING_FILE", file.c_str(), 1);
  EXPECT_EQ(run("perf all_reduce --procs 2 -b 8 -e 64K -f 16 -n 2 > /dev/null"), 0);
  ::unsetenv("RIPIENO_TUNING_FILE");
  std::filesystem::remove(file);
}

TEST(TuneCommand, WhatMakesNoSenseIsSaid) {
  EXPECT_EQ(run("tune --functions all_redcue 2> /dev/null"), 2);
  EXPECT_EQ(run("tune --procs 1 2> /dev/null"), 2);
}

}  // namespace
}  // namespace ripieno::tool

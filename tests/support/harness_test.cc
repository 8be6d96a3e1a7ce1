// The harness itself: what goes wrong in a rank must reach the test.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "support/party.h"

namespace ripieno::test {
namespace {

/// All failures that `run` brings home, in one text.
template <typename Run>
std::string failures_of(Run run) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    run();
  }
  std::string text;
  for (int index = 0; index < results.size(); ++index) {
    text += results.GetTestPartResult(index).message();
    text += '\n';
  }
  return text;
}

TEST(Harness, EveryRankRunsOnceWhereItBelongs) {
  for (const Placement& placement : {in_threads(5), in_one_thread(5), in_processes(5), mixed(5)}) {
    run_ranks(placement, [](Party& party) {
      for (const Rank& rank : party.mine()) {
        board().words[static_cast<std::size_t>(rank.number)] += static_cast<unsigned>(getpid());
      }
      party.barrier();
    });
    for (int rank = 0; rank < 5; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      EXPECT_EQ(board().words[index],
                static_cast<std::uint64_t>(
                    board().process_ids[static_cast<std::size_t>(placement.process[index])]));
    }
  }
  EXPECT_EQ(mixed(5).processes(), 2);
  EXPECT_EQ(mixed(8).parties(), 4);
}

TEST(Harness, FailedExpectationNamesItsRank) {
  for (const Placement& placement : {in_threads(3), in_processes(3)}) {
    const std::string failures = failures_of([&] {
      run_ranks(placement, [](Party& party) { EXPECT_NE(party.rank().number, 2) << "on purpose"; });
    });
    EXPECT_NE(failures.find("on purpose"), std::string::npos) << failures;
    EXPECT_NE(failures.find("rank 2"), std::string::npos) << failures;
    EXPECT_EQ(failures.find("rank 1"), std::string::npos) << failures;
  }
}

TEST(Harness, FailedCallAndExceptionAreFailures) {
  const std::string call =
      failures_of([] { run_ranks(in_threads(1), [](Party&) { check(ncclGroupEnd()); }); });
  EXPECT_NE(call.find("ncclGroupEnd"), std::string::npos) << call;
  const std::string exception = failures_of([] {
    run_ranks(in_threads(2), [](Party& party) {
      if (party.rank().number == 1) throw std::runtime_error("thrown on purpose");
    });
  });
  EXPECT_NE(exception.find("thrown on purpose"), std::string::npos) << exception;
}

TEST(Harness, DeathsAreFailuresUnlessExpected) {
  const auto die = [](Party& party) {
    if (party.process() == 1) {
      kill(getpid(), SIGKILL);
    }
  };
  EXPECT_NE(failures_of([&] { run_ranks(in_processes(2), die); }).find("process 1 was ended by"),
            std::string::npos);
  run_ranks(in_processes(2), die, {.killed = {1}});
  EXPECT_NE(failures_of([&] {
              run_ranks(in_processes(2), [](Party&) {}, {.killed = {0}});
            }).find("should have been killed"),
            std::string::npos);
}

TEST(Harness, RunsEndWhenTheirTimeIsUp) {
  const std::string failures = failures_of([] {
    run_ranks(in_processes(2), [](Party&) { pause(); }, {.limit = std::chrono::seconds{1}});
  });
  EXPECT_NE(failures.find("the run took longer than"), std::string::npos) << failures;
}

TEST(Harness, EnvironmentIsOfOneRun) {
  run_ranks(in_processes(1), [](Party&) { EXPECT_STREQ(getenv("HARNESS_WORD"), "on"); },
            {.environment = {"HARNESS_WORD=on"}});
  run_ranks(in_processes(1), [](Party&) { EXPECT_EQ(getenv("HARNESS_WORD"), nullptr); });
}

}  // namespace
}  // namespace ripieno::test

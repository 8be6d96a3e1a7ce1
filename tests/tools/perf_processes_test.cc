// The processes of `ripieno perf`: what happens when one dies, when the user interrupts, and under
// launchers.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "child.h"

namespace ripieno::test {
namespace {

/// A measurement that does not end by itself within the test.
const std::vector<std::string> kEndless = {
    RIPIENO_COMMAND, "perf", "all_reduce", "--procs", "3",        "-b", "64K", "-e",
    "64K",           "-i",   "1",          "-n",      "100000000"};

/// The three children, once they are measuring.
std::vector<pid_t> wait_for_children(Child& child) {
  child.wait_for_output("(elements)", std::chrono::seconds(60));
  const std::vector<pid_t> children = child.children();
  EXPECT_EQ(children.size(), 3U);
  return children;
}

bool is_gone(pid_t pid) {
  for (int round = 0; round < 100; ++round) {
    if (::kill(pid, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

TEST(PerfProcesses, AKilledRankIsNamedAndTheOthersEnd) {
  Child child(kEndless);
  const std::vector<pid_t> ranks = wait_for_children(child);
  ASSERT_EQ(ranks.size(), 3U);
  ::kill(ranks[1], SIGKILL);
  const Outcome outcome = child.finish();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("rank 1 (pid " + std::to_string(ranks[1]) +
                             ") was killed by signal 9 (Killed)"),
            std::string::npos)
      << outcome.err;
  for (const pid_t rank : ranks) EXPECT_TRUE(is_gone(rank));
}

TEST(PerfProcesses, AnInterruptEndsAll) {
  Child child(kEndless);
  const std::vector<pid_t> ranks = wait_for_children(child);
  child.send(SIGINT);
  EXPECT_EQ(child.finish().exit_code, 128 + SIGINT);
  for (const pid_t rank : ranks) EXPECT_TRUE(is_gone(rank));
}

TEST(PerfProcesses, NoRankOutlivesTheCommand) {
  Child child(kEndless);
  const std::vector<pid_t> ranks = wait_for_children(child);
  child.send(SIGKILL);
  EXPECT_EQ(child.finish().signal, SIGKILL);
  for (const pid_t rank : ranks) EXPECT_TRUE(is_gone(rank));
}

TEST(PerfProcesses, ATimeoutNamesTheSize) {
  Child child({RIPIENO_COMMAND, "perf", "all_reduce", "-b", "64K", "-e", "64K", "-n", "100000000",
               "-T", "1"});
  const Outcome outcome = child.finish();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err,
            "ripieno perf: all_reduce of 64 KiB float was not done within 1 s (--timeout)\n");
}

/// Starts two processes as a launcher would and expects one table.
void expect_two_ranks(const std::vector<Child::Environment>& environments) {
  const std::vector<std::string> words = {
      RIPIENO_COMMAND, "perf", "all_reduce", "-b", "1K", "-e", "1K", "-n", "2"};
  Child second(words, environments[1]);
  Child first(words, environments[0]);
  const Outcome outcome = first.finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("# ranks: 2 = processes 2"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("# Out of bounds values : 0 OK"), std::string::npos) << outcome.out;
  const Outcome quiet = second.finish();
  EXPECT_EQ(quiet.exit_code, 0) << quiet.err;
  EXPECT_EQ(quiet.out, "");
}

TEST(PerfProcesses, MeetUnderMpirun) {
  const std::string job = "test-" + std::to_string(::getpid());
  std::vector<Child::Environment> environments;
  for (const char* rank : {"0", "1"}) {
    environments.push_back({{"OMPI_COMM_WORLD_RANK", rank},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", rank},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"OMPI_MCA_ess_base_jobid", job}});
  }
  expect_two_ranks(environments);
}

TEST(PerfProcesses, MeetUnderTorchrun) {
  const std::string port = std::to_string(20000 + ::getpid() % 10000);
  std::vector<Child::Environment> environments;
  for (const char* rank : {"0", "1"}) {
    environments.push_back({{"RANK", rank},
                            {"LOCAL_RANK", rank},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", port}});
  }
  expect_two_ranks(environments);
}

TEST(PerfProcesses, RefuseToMultiplyALaunchersRanks) {
  const Outcome outcome =
      run_command({"perf", "all_reduce", "--procs", "2"}, {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "ripieno perf: mpirun has started 2 processes already; leave out --procs\n");
}

}  // namespace
}  // namespace ripieno::test

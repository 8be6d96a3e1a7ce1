// `ripieno` itself, `run`, `env` and `version`.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "child.h"

namespace ripieno::test {
namespace {

TEST(Command, HelpListsTheSubcommands) {
  const Outcome outcome = run_command({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* name : {"perf", "run", "env", "ps", "version"}) {
    EXPECT_NE(outcome.out.find(std::string("\n  ") + name + " "), std::string::npos) << name;
  }
  EXPECT_EQ(run_command({}).exit_code, 2);
}

TEST(Command, AMisspeltSubcommandComesWithTheNearest) {
  const Outcome outcome = run_command({"pref"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "ripieno pref: there is no subcommand 'pref'; did you mean 'perf'?\n");
}

TEST(RunCommand, PutsTheLibrariesBeforeTheProgram) {
  const Outcome outcome = run_command({"run", "--no-preload", "--device", "host", "--", "sh", "-c",
                                       "echo $LD_LIBRARY_PATH:$RIPIENO_DEVICE"},
                                      {{"LD_LIBRARY_PATH", "/elsewhere"}});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("lib/ripieno/host:"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("lib:/elsewhere:host\n"), std::string::npos) << outcome.out;
}

TEST(RunCommand, LeavesTheHostRuntimeOutForGpus) {
  const Outcome outcome =
      run_command({"run", "--no-preload", "--device", "cuda", "sh", "-c", "echo $LD_LIBRARY_PATH"});
  EXPECT_EQ(outcome.out.find("ripieno/host"), std::string::npos) << outcome.out;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(RunCommand, LoadsTheLibraryFirst) {
  const Outcome outcome = run_command({"run", "--", "sh", "-c", "cat /proc/self/maps"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("libnccl.so.2"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err, "");
}
#endif

TEST(RunCommand, HandsArgumentsAndExitCodeThrough) {
  EXPECT_EQ(run_command({"run", "--no-preload", "--", "sh", "-c", "exit 7"}).exit_code, 7);
  EXPECT_EQ(run_command({"run", "--no-preload", "echo", "--help", "--device"}).out,
            "--help --device\n");
}

TEST(RunCommand, AnswersAsAShellWhenThereIsNoProgram) {
  const Outcome missing = run_command({"run", "--no-preload", "--", "no-such-program"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_EQ(missing.err,
            "ripieno run: cannot start 'no-such-program': No such file or directory\n");
  EXPECT_EQ(run_command({"run", "--no-preload", "--", "/etc/passwd"}).exit_code, 126);
  EXPECT_EQ(run_command({"run"}).exit_code, 2);
  EXPECT_EQ(run_command({"run", "--device", "gpu", "--", "true"}).exit_code, 2);
  EXPECT_EQ(run_command({"run", "--devise", "host", "--", "true"}).exit_code, 2);
}

TEST(EnvCommand, ShowsWhatIsSetAndItsSource) {
  const Outcome outcome = run_command({"env"}, {{"RIPIENO_HOST_DEVICES", "4"}});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("RIPIENO_HOST_DEVICES = 4"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("environment; default 8"), std::string::npos) << outcome.out;
}

TEST(EnvCommand, AllFitsEightyColumns) {
  const Outcome outcome = run_command({"env", "--all"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("NCCL_DEBUG = "), std::string::npos);
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(EnvCommand, CheckFindsMisspeltNamesAndWrongValues) {
  EXPECT_EQ(run_command({"env", "--check"}, {{"RIPIENO_HOST_DEVICES", "4"}}).exit_code, 0);
  const Outcome misspelt = run_command({"env", "--check"}, {{"RIPIENO_HOST_DEVICE", "4"}});
  EXPECT_EQ(misspelt.exit_code, 1);
  EXPECT_NE(misspelt.err.find("RIPIENO_HOST_DEVICES"), std::string::npos) << misspelt.err;
  EXPECT_EQ(run_command({"env", "--check"}, {{"RIPIENO_HOST_DEVICES", "many"}}).exit_code, 1);
}

TEST(EnvCommand, PrintsTheReferencePage) {
  const Outcome outcome = run_command({"env", "--markdown"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("RIPIENO_DEVICE"), std::string::npos);
  EXPECT_TRUE(outcome.out.starts_with('#')) << outcome.out.substr(0, 80);
}

TEST(PsCommand, ShowsLiveCommunicatorsFromOutside) {
  Child job({RIPIENO_COMMAND, "perf", "all_reduce", "--procs", "2", "-b", "4M", "-e", "4M", "-n",
             "1000000", "-c", "0"});
  const auto shows_all = [&](const std::string& text) {
    const std::vector<pid_t> processes = job.children();
    return processes.size() == 2 && std::ranges::all_of(processes, [&](pid_t process) {
             return text.find(std::to_string(process)) != std::string::npos;
           });
  };
  Outcome json;
  for (int look = 0; look < 600 && !shows_all(json.out); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    json = run_command({"ps", "--json"});
  }
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_TRUE(shows_all(json.out)) << json.out;
  for (const char* part : {"\"communicators\"", "\"last_entered\"", "\"AllReduce\"", "\"live\""}) {
    EXPECT_NE(json.out.find(part), std::string::npos) << part << " in " << json.out;
  }
  const Outcome table = run_command({"ps"});
  EXPECT_TRUE(shows_all(table.out)) << table.out;
  EXPECT_NE(table.out.find("AllReduce #"), std::string::npos) << table.out;
  job.send(SIGTERM);
  (void)job.finish();
}

TEST(VersionCommand, NamesTheLibrary) {
  const Outcome outcome = run_command({"version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.out.starts_with("ripieno ")) << outcome.out;
  EXPECT_NE(outcome.out.find("NCCL API 2.28.9"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace ripieno::test

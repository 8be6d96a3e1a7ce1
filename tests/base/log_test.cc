// What is written, where, and how it looks.
#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <regex>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "child.h"

namespace ripieno {
namespace {

using testing::content_of;
using testing::output_of;
using testing::TemporaryFolder;

void say_one_of_each() {
  log_version("NCCL version 1.2.3");
  log_warn(log_subsystem::kInit, "a {} warning", "stern");
  log_info(log_subsystem::kInit, "an info of INIT");
  log_info(log_subsystem::kColl, "an info of COLL");
  log_trace(log_subsystem::kInit, "a trace of INIT");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Log, IsSilentUnlessAsked) {
  EXPECT_EQ(output_of({}, say_one_of_each), "");
}

TEST(Log, EachLevelIncludesTheOnesBefore) {
  const std::string version = output_of({{"NCCL_DEBUG", "VERSION"}}, say_one_of_each);
  EXPECT_EQ(version, "NCCL version 1.2.3\n");
  const std::string warn = output_of({{"NCCL_DEBUG", "warn"}}, say_one_of_each);
  EXPECT_TRUE(has(warn, "NCCL version 1.2.3\n") && has(warn, "a stern warning"));
  EXPECT_FALSE(has(warn, "info"));
  const std::string info = output_of({{"NCCL_DEBUG", "INFO"}}, say_one_of_each);
  EXPECT_TRUE(has(info, "a stern warning") && has(info, "an info of INIT"));
  EXPECT_FALSE(has(info, "COLL") || has(info, "trace"));
  EXPECT_TRUE(has(output_of({{"NCCL_DEBUG", "TRACE"}}, say_one_of_each), "a trace of INIT"));
}

TEST(Log, SubsystemsFilterAndCaretInverts) {
  const auto said = [](const char* subsystems) {
    return output_of({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", subsystems}}, say_one_of_each);
  };
  EXPECT_FALSE(has(said("COLL"), "of INIT"));
  EXPECT_TRUE(has(said("COLL"), "of COLL"));
  EXPECT_TRUE(has(said("coll,init"), "of INIT"));
  EXPECT_TRUE(has(said("^INIT"), "of COLL"));
  EXPECT_FALSE(has(said("^INIT"), "of INIT"));
  EXPECT_TRUE(has(said("ALL"), "of COLL"));
  EXPECT_TRUE(has(said("COLL,NONSENSE"), "NONSENSE")) << "a warning names what does not exist";
}

TEST(Log, LinesLookLikeNccls) {
  const std::string text = output_of({{"NCCL_DEBUG", "INFO"}}, [] {
    set_log_device([]() noexcept { return 3; });
    log_info(log_subsystem::kInit, "hello {}", 5);
    log_warn(log_subsystem::kInit, "careful");
  });
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(\n[^\s:]+:\d+:\d+ \[3\] NCCL INFO hello 5\n)")))
      << text;
  EXPECT_TRUE(std::regex_search(
      text,
      std::regex(
          R"(\n\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] [^\s:]+:\d+:\d+ \[3\] NCCL WARN careful\n)")))
      << text;
}

TEST(Log, TimeStampsFollowFormatAndLevels) {
  const std::string text = output_of({{"NCCL_DEBUG", "INFO"},
                                      {"NCCL_DEBUG_TIMESTAMP_LEVELS", "INFO"},
                                      {"NCCL_DEBUG_TIMESTAMP_FORMAT", "<%H.%3f> "}},
                                     say_one_of_each);
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(<\d\d\.\d{3}> \S+ \[0\] NCCL INFO an info)")))
      << text;
  EXPECT_FALSE(std::regex_search(text, std::regex(R"(<\d\d\.\d{3}> \S+ \[0\] NCCL WARN)"))) << text;
  EXPECT_EQ(format_time_stamp("%1f|%9f|%%", {.tv_sec = 0, .tv_nsec = 123'456'789}),
            "1|123456789|%");
}

// Case 119: everything goes to the file, the version as well, and standard output stays clean.
TEST(Log, AFileTakesAllLines) {
  const TemporaryFolder folder;
  for (const char* level : {"VERSION", "WARN"}) {
    const std::string pattern = folder.file(fmt::format("{}-%h-%p-%%.log", level));
    std::string path;
    const std::string out = output_of({{"NCCL_DEBUG", level}, {"NCCL_DEBUG_FILE", pattern}}, [&] {
      say_one_of_each();
      const std::string here =
          folder.file(fmt::format("{}-{}-{}-%.log", level, host_name(), ::getpid()));
      EXPECT_TRUE(has(content_of(here), "NCCL version 1.2.3\n"));
      EXPECT_EQ(has(content_of(here), "stern"), std::string(level) == "WARN");
    });
    EXPECT_EQ(out, "");
  }
}

TEST(Log, LinesOfManyThreadsAndProcessesStayWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.file("shared.log");
  const std::string body(300, 'x');
  const auto write = [&] {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int line = 0; line < 200; ++line) log_info(log_subsystem::kInit, "{}", body);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  (void)output_of(
      {{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT"}, {"NCCL_DEBUG_FILE", path}}, [&] {
        // Two forks make four processes.
        const pid_t first = ::fork();
        const pid_t second = ::fork();
        write();
        if (second == 0) ::_exit(0);
        ::waitpid(second, nullptr, 0);
        if (first == 0) ::_exit(0);
        ::waitpid(first, nullptr, 0);
      });
  std::istringstream lines(content_of(path));
  std::string line;
  int count = 0;
  const std::regex whole(R"(\S+ \[0\] NCCL INFO x{300})");
  while (std::getline(lines, line)) {
    ++count;
    EXPECT_TRUE(std::regex_match(line, whole)) << line;
  }
  EXPECT_EQ(count, 4 * 4 * 200);
}

TEST(Log, AFileThatCannotBeOpenedIsToldAndReplaced) {
  const std::string text = output_of(
      {{"NCCL_DEBUG", "WARN"}, {"NCCL_DEBUG_FILE", "/nonexistent/folder/file"}}, say_one_of_each);
  EXPECT_TRUE(has(text, "Could not open NCCL_DEBUG_FILE /nonexistent/folder/file")) << text;
  EXPECT_TRUE(has(text, "a stern warning"));
}

TEST(Log, AWarningBecomesTheLastErrorEvenWhenNothingIsWritten) {
  (void)output_of({}, [] {
    log_warn(log_subsystem::kNet, "number {}", 7);
    EXPECT_STREQ(last_error(), "number 7");
  });
}

TEST(Log, ResettingReadsTheVariablesAgain) {
  const std::string text = output_of({}, [] {
    log_info(log_subsystem::kInit, "before");
    ::setenv("NCCL_DEBUG", "INFO", 1);
    log_info(log_subsystem::kInit, "between");
    log_reset();
    log_info(log_subsystem::kInit, "after");
    ::unsetenv("NCCL_DEBUG");
    log_reset();
    log_info(log_subsystem::kInit, "finally");
  });
  EXPECT_TRUE(has(text, "after"));
  EXPECT_FALSE(has(text, "before") || has(text, "between") || has(text, "finally")) << text;
}

TEST(Log, AWarningMayRaiseTheLevel) {
  const std::string text =
      output_of({{"NCCL_DEBUG", "WARN"}, {"NCCL_WARN_ENABLE_DEBUG_INFO", "1"}}, [] {
        log_info(log_subsystem::kInit, "early");
        log_warn(log_subsystem::kInit, "trouble");
        log_info(log_subsystem::kInit, "late");
      });
  EXPECT_TRUE(has(text, "late"));
  EXPECT_FALSE(has(text, "early"));
}

TEST(Log, SaysWhichParametersAreSetAndWhatIsWrongWithThem) {
  const std::string text = output_of(
      {{"NCCL_DEBUG", "INFO"}, {"NCCL_BUFFSIZE", "abc"}, {"NCCL_ALGO", "RING"}}, say_one_of_each);
  EXPECT_TRUE(has(text, "NCCL_ALGO set by environment to RING")) << text;
  EXPECT_TRUE(has(text, "NCCL_BUFFSIZE=abc (environment) is not valid")) << text;
}

}  // namespace
}  // namespace ripieno

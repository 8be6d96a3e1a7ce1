// Processes that talk over sockets of one parent, or meet by the name of their job.
#include "perf/team.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "command.h"
#include "perf/meeting.h"

namespace ripieno::tool::perf {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Team, OfOneGathersItsOwn) {
  EXPECT_EQ(Team().all_gather(bytes_of("abc")), bytes_of("abc"));
}

TEST(Team, GathersInOrderOfProcesses) {
  std::vector<std::vector<UniqueFd>> star = make_star(3);
  std::vector<std::vector<std::byte>> got(3);
  {
    std::vector<std::jthread> threads;
    for (int process = 0; process < 3; ++process) {
      threads.emplace_back([&, process] {
        const auto place = static_cast<std::size_t>(process);
        Team team(process, 3, std::move(star[place]));
        static_cast<void>(team.all_gather(bytes_of("first")));
        got[place] = team.all_gather(bytes_of(std::string(1, static_cast<char>('a' + process))));
      });
    }
  }
  for (const auto& bytes : got) EXPECT_EQ(bytes, bytes_of("abc"));
}

TEST(Team, LearnsThatAProcessIsGone) {
  std::vector<std::vector<UniqueFd>> star = make_star(2);
  Team team(0, 2, std::move(star[0]));
  star.clear();
  EXPECT_THROW(static_cast<void>(team.all_gather(bytes_of("x"))), LostProcess);
}

Placement member(int process, const std::string& job) {
  Placement placement;
  placement.process = process;
  placement.processes = 3;
  placement.job = job;
  return placement;
}

TEST(Meeting, BringsProcessesOfOneHostTogether) {
  const std::string job = "test-" + std::to_string(::getpid());
  std::vector<std::vector<std::byte>> got(3);
  {
    std::vector<std::jthread> threads;
    for (int process = 2; process >= 0; --process) {
      threads.emplace_back([&, process] {
        Team team = meet(member(process, job), std::chrono::seconds(30));
        got[static_cast<std::size_t>(process)] =
            team.all_gather(bytes_of(std::string(1, static_cast<char>('a' + process))));
      });
    }
  }
  for (const auto& bytes : got) EXPECT_EQ(bytes, bytes_of("abc"));
}

TEST(Meeting, NamesThoseThatDidNotCome) {
  try {
    static_cast<void>(
        meet(member(0, "alone-" + std::to_string(::getpid())), std::chrono::seconds(1)));
    FAIL();
  } catch (const LostProcess& error) {
    EXPECT_STREQ(error.what(), "1 of 3 processes came within 1 s; missing: 1, 2");
  }
}

TEST(Meeting, AsksForAnAddressAcrossHosts) {
  Placement placement = member(0, "job");
  placement.one_host = false;
  EXPECT_THROW(static_cast<void>(meet(placement, std::chrono::seconds(1))), UsageError);
}

}  // namespace
}  // namespace ripieno::tool::perf

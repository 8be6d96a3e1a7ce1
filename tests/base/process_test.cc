// Identity of host and process, and how threads start.
#include "base/process.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace ripieno {
namespace {

// Case 110: names that are equal up to the first dot are different hosts.
TEST(HostHash, TellsHostsApart) {
  EXPECT_NE(host_hash("", "node.a.example", "boot"), host_hash("", "node.b.example", "boot"));
  EXPECT_NE(host_hash("", "node", "boot1"), host_hash("", "node", "boot2"));
  EXPECT_EQ(host_hash("", "node", "boot"), host_hash("", "node", "boot"));
  EXPECT_NE(host_hash("", "ab", "c"), host_hash("", "a", "bc"));
}

TEST(HostHash, AnExplicitIdentityWins) {
  EXPECT_EQ(host_hash("mine", "a", "1"), host_hash("mine", "b", "2"));
  EXPECT_NE(host_hash("mine", "a", "1"), host_hash("other", "a", "1"));
  EXPECT_NE(host_hash("mine", "mine", ""), host_hash("", "mine", ""));
}

TEST(Process, KnowsItself) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_EQ(process_id(), ::getpid());
  EXPECT_EQ(thread_id(), ::getpid()) << "of the first thread";
}

TEST(StartThread, NamesItAndBlocksSignals) {
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  std::array<char, 16> name{};
  sigset_t inside;
  start_thread("ripieno-a-long-name", [&] {
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    ::pthread_sigmask(SIG_BLOCK, nullptr, &inside);
  }).join();
  EXPECT_STREQ(name.data(), "ripieno-a-long-");
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE}) {
    EXPECT_EQ(::sigismember(&inside, signal), 1) << signal;
    EXPECT_EQ(::sigismember(&before, signal), 0);
  }
  EXPECT_EQ(::sigismember(&inside, SIGSEGV), 0) << "faults still reach crash handlers";
  sigset_t after;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGINT), 0) << "the starting thread is as it was";
}

TEST(StartThread, StopsByItsToken) {
  std::atomic<bool> stopped{false};
  {
    const std::jthread thread = start_thread("ripieno-test", [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      stopped = true;
    });
  }
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace ripieno

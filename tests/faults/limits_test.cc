// What a process may run into: limits of descriptors and memory, signals, fork, a peer that is
// stopped. Each ends in the right code with a sentence, and when the limit is gone all works again.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "faults/survivors.h"

namespace ripieno::test {
namespace {

using namespace std::chrono_literals;

/// Lowers a limit for its lifetime.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t most) : resource_(resource) {
    getrlimit(resource_, &before_);
    rlimit lowered = before_;
    lowered.rlim_cur = most;
    setrlimit(resource_, &lowered);
  }
  ~Limit() { setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

int open_descriptors() {
  int count = 0;
  for (const auto& [kind, number] : ProcessState::now().descriptors) {
    count += number;
  }
  return count;
}

/// Communicators of one process until one fails.
ncclResult_t make_until_failure(std::vector<ncclComm_t>& comms) {
  for (;;) {
    std::array<ncclComm_t, 2> pair{};
    if (const ncclResult_t result = ncclCommInitAll(pair.data(), 2, nullptr);
        result != ncclSuccess) {
      EXPECT_EQ(pair[0], nullptr);
      EXPECT_EQ(pair[1], nullptr);
      return result;
    }
    comms.insert(comms.end(), pair.begin(), pair.end());
  }
}

TEST(Limits, NoDescriptorsLeft) {
  run_ranks(in_threads(1), [](Party&) {
    warm_up();
    const ProcessState before = ProcessState::at_rest();
    std::vector<ncclComm_t> comms;
    for (const int spare : {0, 1, 2, 3, 5, 8, 13, 60}) {
      {
        const Limit limit(RLIMIT_NOFILE, static_cast<rlim_t>(open_descriptors() + spare));
        const ncclResult_t result = make_until_failure(comms);
        const std::string sentence = ncclGetLastError(nullptr);
        // Where it is the rendezvous that cannot take a rank in, that rank sees a closed door.
        EXPECT_TRUE(result == ncclSystemError || result == ncclRemoteError ||
                    result == ncclInvalidUsage)
            << result << " " << sentence;
        EXPECT_FALSE(sentence.empty());
        if (spare <= 2) {
          EXPECT_EQ(result, ncclSystemError);
          EXPECT_NE(sentence.find("Too many open files"), std::string::npos) << sentence;
        }
      }
      for (ncclComm_t comm : comms) {
        check(ncclCommDestroy(comm));
      }
      comms.clear();
      expect_state_again(before);
    }
    // Nothing of it stays.
    std::array<ncclComm_t, 2> pair{};
    check(ncclCommInitAll(pair.data(), 2, nullptr));
    check(ncclCommDestroy(pair[0]));
    check(ncclCommDestroy(pair[1]));
  });
}

TEST(Limits, NoDescriptorsLeftInOneOfManyProcesses) {
  run_ranks(in_processes(3),
            [](Party& party) {
              warm_up();
              const ProcessState before = ProcessState::at_rest();
              Rank& rank = party.rank();
              const ncclUniqueId id = party.id(0);
              party.barrier();
              {
                const Limit limit(RLIMIT_NOFILE, rank.number == 1
                                                     ? static_cast<rlim_t>(open_descriptors() + 3)
                                                     : 1024);
                const ncclResult_t result = ncclCommInitRank(&rank.comm, 3, id, rank.number);
                EXPECT_EQ(rank.comm, nullptr);
                EXPECT_EQ(result == ncclSystemError || result == ncclRemoteError, true)
                    << result << " " << ncclGetLastError(nullptr);
              }
              if (rank.number != 0) {
                expect_state_again(before);
              }
            },
            {.environment = {"RIPIENO_INIT_TIMEOUT=5"}});
}

TEST(Limits, NoAddressSpaceLeft) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer's shadow needs the address space";
  }
  run_ranks(in_threads(1), [](Party&) {
    warm_up();
    const ProcessState before = ProcessState::at_rest();
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    std::vector<ncclComm_t> comms;
    {
      const Limit limit(RLIMIT_AS, pages * 4096 + (64 << 20));
      const ncclResult_t result = make_until_failure(comms);
      EXPECT_EQ(result, ncclSystemError) << ncclGetLastError(nullptr);
      EXPECT_FALSE(std::string(ncclGetLastError(nullptr)).empty());
    }
    for (ncclComm_t comm : comms) {
      check(ncclCommDestroy(comm));
    }
    expect_state_again(before);
  });
}

TEST(Limits, AStormOfSignals) {
  run_ranks(in_processes(2), [](Party& party) {
    static std::atomic<int> caught{0};
    struct sigaction action {};
    action.sa_handler = [](int) { caught.fetch_add(1); };
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 500},
                          .it_value = {.tv_sec = 0, .tv_usec = 500}};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int round = 0; round < 10; ++round) {
      Rank& rank = party.rank();
      rank.comm = party.make_communicators(round).front();
      check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
      expect_working(party, 100'000);
      ncclComm_t child = nullptr;
      check(ncclCommSplit(rank.comm, 0, 0, &child, nullptr));
      check(ncclCommDestroy(child));
      party.destroy();
    }
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    EXPECT_GT(caught.load(), 0);
  });
}

TEST(Limits, AForkedChildIsRefusedAndDoesNotDisturbItsParent) {
  run_with_communicators(in_processes(2), [](Party& party) {
    Rank& rank = party.rank();
    expect_working(party);
    const pid_t child = fork();
    if (child == 0) {
      std::int32_t value = 1;
      ncclComm_t other = nullptr;
      int count = 0;
      const std::array results{
          ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, rank.comm, rank.stream),
          ncclCommSplit(rank.comm, 0, 0, &other, nullptr), ncclCommCount(rank.comm, &count),
          ncclCommAbort(rank.comm), ncclCommDestroy(rank.comm)};
      const auto accepted = std::ranges::count_if(
          results, [](ncclResult_t result) { return result != ncclInvalidUsage; });
      const std::string sentence = ncclGetLastError(nullptr);
      _exit(static_cast<int>(accepted) + (sentence.find("forked") == std::string::npos ? 16 : 0));
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    expect_working(party);
  });
}

TEST(Limits, AStoppedRankIsMissedInInitAndInSplit) {
  run_ranks(in_processes(3),
            [](Party& party) {
              Rank& rank = party.rank();
              rank.comm = party.make_communicators(0).front();
              party.barrier();
              ncclComm_t other = nullptr;
              if (rank.number != 2) {
                // Rank 2 stands still, as if it had been stopped.
                EXPECT_EQ(ncclCommSplit(rank.comm, 0, 0, &other, nullptr), ncclRemoteError);
                EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("2 of 3"), std::string::npos)
                    << ncclGetLastError(nullptr);
                EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("missing: 2"),
                          std::string::npos);
              }
              party.barrier();
            },
            {.environment = {"RIPIENO_INIT_TIMEOUT=2"}});
}

}  // namespace
}  // namespace ripieno::test

// Reported cases of configuration and initialisation. Not here: versions that differ between ranks
// (14) are the bootstrap's tests; parameters, interfaces and the log (97 to 113, 119) are base's
// and bootstrap's; several devices' memory (16, 22) and topology (23) wait for their parts.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <ctime>
#include <thread>

#include "cases/simple.h"
#include "support/process_state.h"

namespace ripieno::test {
namespace {

using namespace std::chrono_literals;

ncclResult_t init_alone(ncclConfig_t* config) {
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  ncclComm_t comm = nullptr;
  const ncclResult_t result = ncclCommInitRankConfig(&comm, 1, id, 0, config);
  if (result == ncclSuccess) {
    check(ncclCommDestroy(comm));
  } else {
    EXPECT_EQ(comm, nullptr);
  }
  return result;
}

TEST(CaseInit, Case001_MinCtasAloneIsAccepted) {
  run_ranks(in_threads(1), [](Party&) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.minCTAs = 4;
    check(init_alone(&config));
    config.minCTAs = 100;
    check(init_alone(&config));
    config = NCCL_CONFIG_INITIALIZER;
    config.maxCTAs = 1;
    check(init_alone(&config));
    config.minCTAs = 16;
    config.maxCTAs = 4;
    expect_refused(init_alone(&config), ncclInvalidArgument, {"minCTAs", "16", "maxCTAs", "4"});
  });
}

TEST(CaseInit, Case002_OlderShorterConfigIsNotReadPastItsEnd) {
  run_ranks(in_threads(1), [](Party&) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* const pages = static_cast<std::byte*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.version = NCCL_VERSION(2, 14, 0);
    for (std::size_t size = 24; size <= sizeof config; size += 8) {
      config.size = size;
      std::byte* const place = pages + page - size;
      std::memcpy(place, &config, size);
      check(init_alone(reinterpret_cast<ncclConfig_t*>(place)));
    }
    munmap(pages, 2 * page);
  });
}

TEST(CaseInit, Case002_LongerConfigOfTheFutureIsAccepted) {
  run_ranks(in_threads(1), [](Party&) {
    struct Longer {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      // Four fields that are known by now, then some that are not.
      std::array<int, 8> more{NCCL_CONFIG_UNDEF_INT,
                              NCCL_CONFIG_UNDEF_INT,
                              NCCL_CONFIG_UNDEF_INT,
                              NCCL_CONFIG_UNDEF_INT,
                              7,
                              7,
                              7,
                              7};
    } longer;
    longer.config.size = sizeof longer;
    longer.config.version = NCCL_VERSION(2, 99, 0);
    check(init_alone(&longer.config));
  });
}

TEST(CaseInit, Case004_BlockingMustBeZeroOrOne) {
  run_ranks(in_threads(1), [](Party&) {
    for (const int wrong : {-1, 2, 1000}) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = wrong;
      expect_refused(init_alone(&config), ncclInvalidArgument,
                     {"blocking must be 0 or 1", std::to_string(wrong)});
    }
  });
}

TEST(CaseInit, Case005_UseWhileInitialisingIsAnErrorAtOnce) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_ranks(placement, [](Party& party) {
      Rank& rank = party.rank();
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      const ncclUniqueId id = party.id(0);
      check(cudaStreamCreate(&rank.stream));
      const Buffer buffer(MemoryKind::kDevice, 8, rank.stream);
      if (rank.number == 1) {
        // Rank 0 finds its communicator initialising for sure.
        party.barrier();
      }
      EXPECT_EQ(ncclCommInitRankConfig(&rank.comm, 2, id, rank.number, &config), ncclInProgress);
      if (rank.number == 0) {
        check(ncclGroupStart());
        expect_refused(ncclSend(buffer.data(), 1, ncclInt8, 1, rank.comm, rank.stream),
                       ncclInvalidArgument, {"ncclCommGetAsyncError"});
        expect_refused(ncclRecv(buffer.data(), 1, ncclInt8, 1, rank.comm, rank.stream),
                       ncclInvalidArgument, {"ncclCommGetAsyncError"});
        EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
        int count = 0;
        EXPECT_EQ(ncclCommCount(rank.comm, &count), ncclInvalidArgument);
        party.barrier();
      }
      EXPECT_EQ(outcome(rank.comm), ncclSuccess);
      expect_working(party);
      check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
    });
  }
}

TEST(CaseInit, Case007_Case008_Case035_NonBlockingInitOfALoneRankCanBeAborted) {
  run_ranks(in_threads(1), [](Party& party) {
    check(init_alone(nullptr));
    const ProcessState before = ProcessState::at_rest();
    const ncclUniqueId id = party.id(0);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
    for (int look = 0; look < 30; ++look) {
      EXPECT_EQ(async_error(comm), ncclInProgress);
      std::this_thread::sleep_for(10ms);
    }
    check(ncclCommAbort(comm));
    expect_state_again(before);
  });
}

TEST(CaseInit, Case010_FailureInAGroupComesWithItsEndAndLeavesNull) {
  run_ranks(in_threads(1), [](Party& party) {
    for (const int blocking : {1, 0}) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = blocking;
      const ncclUniqueId nobody{};
      ncclComm_t comm = reinterpret_cast<ncclComm_t>(&config);
      check(ncclGroupStart());
      const ncclResult_t early = ncclCommInitRankConfig(&comm, 1, nobody, 0, &config);
      EXPECT_TRUE(early == ncclSuccess || early == ncclInProgress || early == ncclInvalidArgument);
      ncclResult_t late = ncclGroupEnd();
      if (late == ncclInProgress) {
        late = outcome(comm);
        check(ncclCommAbort(std::exchange(comm, nullptr)));
      }
      EXPECT_EQ(late, ncclInvalidArgument);
      EXPECT_EQ(comm, nullptr);
    }
    int byte = 0;
    expect_refused(ncclAllReduce(&byte, &byte, 1, ncclInt8, ncclSum, nullptr, nullptr),
                   ncclInvalidArgument, {"comm is NULL"});
    party.init();
    expect_working(party);
    party.destroy();
  });
}

TEST(CaseInit, Case010_AFailedCallInAGroupStartsNothingOfIt) {
  run_ranks(in_threads(1), [](Party& party) {
    const ncclUniqueId id = party.id(0);
    for (const int blocking : {1, 0}) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = blocking;
      ncclComm_t good = nullptr;
      ncclComm_t bad = nullptr;
      check(ncclGroupStart());
      ncclCommInitRankConfig(&good, 2, id, 0, &config);
      EXPECT_EQ(ncclCommInitRankConfig(&bad, 2, id, 2, &config), ncclInvalidArgument);
      EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
      EXPECT_EQ(good, nullptr) << "blocking " << blocking;
      EXPECT_EQ(bad, nullptr);
    }
  });
}

TEST(CaseInit, Case011_SecondUseOfAnIdEnds) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    run_ranks(placement,
              [](Party& party) {
                const ncclUniqueId id = party.id(0);
                Rank& rank = party.rank();
                check(ncclCommInitRank(&rank.comm, 2, id, rank.number));
                ncclComm_t second = nullptr;
                const ncclResult_t result = ncclCommInitRank(&second, 2, id, rank.number);
                if (result == ncclSuccess) {
                  check(ncclCommDestroy(second));
                } else {
                  EXPECT_EQ(second, nullptr);
                  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("id"), std::string::npos);
                }
                party.barrier();
                check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
              },
              {.environment = {"RIPIENO_INIT_TIMEOUT=20"}, .limit = 60s});
  }
}

TEST(CaseInit, Case013_RanksWithDifferentIdsLearnHowManyJoined) {
  run_ranks(in_processes(2),
            [](Party& party) {
              ncclUniqueId id;
              check(ncclGetUniqueId(&id));
              ncclComm_t comm = nullptr;
              const ncclResult_t result = ncclCommInitRank(&comm, 2, id, party.rank().number);
              expect_refused(result, ncclRemoteError,
                             {"1 of 2", party.rank().number == 0 ? "missing: 1" : "missing: 0"});
              EXPECT_EQ(comm, nullptr);
              party.barrier();
            },
            {.environment = {"RIPIENO_INIT_TIMEOUT=1"}});
}

TEST(CaseInit, Case017_WaitingForALateRankIsQuiet) {
  run_ranks(in_processes(3), [](Party& party) {
    const ncclUniqueId id = party.id(0);
    Rank& rank = party.rank();
    if (rank.number == 0) {
      std::this_thread::sleep_for(1s);
    }
    const std::clock_t before = std::clock();
    check(ncclCommInitRank(&rank.comm, 3, id, rank.number));
    const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 0.4 * kSlowdown) << "of CPU time for waiting 1 s";
    check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
  });
}

// ---- Strangers ----

sockaddr_in local_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = local_address(0);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(probe);
  return ntohs(address.sin_port);
}

/// Connects to the rendezvous as soon as it listens and sends `greeting`; the caller closes it.
int knock(int port, std::string_view greeting) {
  const sockaddr_in address = local_address(port);
  int stranger = -1;
  wait_until(
      [&] {
        stranger = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(stranger, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
          return true;
        }
        close(stranger);
        return false;
      },
      "the rendezvous to listen");
  EXPECT_EQ(send(stranger, greeting.data(), greeting.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(greeting.size()));
  return stranger;
}

TEST(CaseInit, Case019_StrangersDoNotDisturb) {
  const int port = free_port();
  run_ranks(in_processes(3),
            [port](Party& party) {
              Rank& rank = party.rank();
              ncclUniqueId id;
              check(ncclGetUniqueId(&id));
              check(cudaStreamCreate(&rank.stream));
              if (rank.number == 2) {
                const int noisy = knock(port, "GET / HT");
                const int silent = knock(port, "");
                const std::clock_t before = std::clock();
                check(ncclCommInitRank(&rank.comm, 3, id, rank.number));
                EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC,
                          2.0 * kSlowdown);
                close(noisy);
                close(silent);
              } else {
                check(ncclCommInitRank(&rank.comm, 3, id, rank.number));
              }
              expect_working(party);
              check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
            },
            {.environment = {"NCCL_COMM_ID=127.0.0.1:" + std::to_string(port)}});
}

TEST(CaseInit, Case020_InitAllThatFailsMidwayCleansUp) {
  // Ever fewer descriptors: somewhere on the way some rank fails.
  for (int spare = 0; spare < 80; spare += kSanitized ? 16 : 5) {
    SCOPED_TRACE(std::to_string(spare) + " descriptors to spare");
    run_ranks(in_threads(1),
              [spare](Party&) {
                check(init_alone(nullptr));
                const int lowest = dup(0);
                close(lowest);
                rlimit limit{};
                getrlimit(RLIMIT_NOFILE, &limit);
                const rlimit roomy = limit;
                limit.rlim_cur = static_cast<rlim_t>(lowest + spare);
                ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
                std::array<ncclComm_t, 4> comms{};
                const ncclResult_t result = ncclCommInitAll(comms.data(), 4, nullptr);
                for (ncclComm_t comm : comms) {
                  EXPECT_EQ(comm != nullptr, result == ncclSuccess);
                  check(ncclCommAbort(comm));
                }
                if (result != ncclSuccess) {
                  EXPECT_STRNE(ncclGetLastError(nullptr), "");
                }
                // The search for leaks at the process's end opens files.
                ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &roomy), 0);
              },
              {.environment = {"RIPIENO_INIT_TIMEOUT=5"}, .limit = 30s});
  }
}

}  // namespace
}  // namespace ripieno::test

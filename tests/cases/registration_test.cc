// Registered buffers and windows: counted, checked, and without growth.
#include <gtest/gtest.h>

#include <fstream>

#include "cases/simple.h"
#include "support/process_state.h"

#define RIPIENO_NEWER_API
#include "ripieno/nccl_newer.h"

namespace ripieno::test {
namespace {

/// Kilobytes of this process in memory, and of address space.
std::pair<long, long> memory_use() {
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  long resident = 0;
  file >> pages >> resident;
  return {resident * 4, pages * 4};
}

TEST(Registration, Case050_WindowsAreCountedAndDoNotGrow) {
  for (const Placement& placement : {in_threads(2), in_processes(3)}) {
    run_with_communicators(placement, [](Party& party) {
      Rank& rank = party.rank();
      constexpr std::size_t kBytes = 1 << 20;
      void* memory = nullptr;
      check(ncclMemAlloc(&memory, kBytes));
      const auto round = [&] {
        ncclWindow_t window = nullptr;
        void* handle = nullptr;
        check(ncclCommWindowRegister(rank.comm, memory, kBytes, &window, NCCL_WIN_COLL_SYMMETRIC));
        check(ncclCommRegister(rank.comm, memory, kBytes, &handle));
        EXPECT_NE(window, nullptr);
        EXPECT_NE(handle, nullptr);
        check(ncclCommDeregister(rank.comm, handle));
        check(ncclCommWindowDeregister(rank.comm, window));
      };
      for (int warm = 0; warm < 50; ++warm) {
        round();
      }
      party.barrier();
      const ProcessState before = ProcessState::at_rest();
      const auto [resident, space] = memory_use();
      party.barrier();
      for (int more = 0; more < (kSanitized ? 100 : 1000); ++more) {
        round();
      }
      party.barrier();
      if (!kSanitized) {
        const auto [resident_now, space_now] = memory_use();
        EXPECT_LE(resident_now - resident, 256);
        EXPECT_LE(space_now - space, 256);
      }
      expect_state_again(before);
      party.barrier();
      check(ncclMemFree(memory));
    });
  }
}

TEST(Registration, SameMemoryHasOneWindowUntilTheLastEnd) {
  run_with_communicators(in_processes(2), [](Party& party) {
    Rank& rank = party.rank();
    void* memory = nullptr;
    check(ncclMemAlloc(&memory, 8192));
    ncclWindow_t first = nullptr;
    ncclWindow_t second = nullptr;
    check(ncclCommWindowRegister(rank.comm, memory, 8192, &first, 0));
    check(ncclCommWindowRegister(rank.comm, memory, 8192, &second, 0));
    EXPECT_EQ(first, second);
    void* pointer = nullptr;
    check(ncclWinGetUserPtr(rank.comm, first, &pointer));
    EXPECT_EQ(pointer, memory);
    check(ncclCommWindowDeregister(rank.comm, first));
    check(ncclWinGetUserPtr(rank.comm, second, &pointer));
    check(ncclCommWindowDeregister(rank.comm, second));
    expect_refused(ncclCommWindowDeregister(rank.comm, second), ncclInvalidUsage, {"window"});
    expect_refused(ncclWinGetUserPtr(rank.comm, second, &pointer), ncclInvalidUsage, {"window"});
    check(ncclCommWindowDeregister(rank.comm, nullptr));
    check(ncclMemFree(memory));
  });
}

TEST(Registration, PrivateMemoryGivesNoWindowOnAnyRank) {
  run_with_communicators(in_processes(2), [](Party& party) {
    Rank& rank = party.rank();
    const Buffer buffer(rank.number == 0 ? MemoryKind::kDevice : MemoryKind::kHeap, 4096,
                        rank.stream);
    auto window = reinterpret_cast<ncclWindow_t>(&party);
    check(ncclCommWindowRegister(rank.comm, buffer.data(), 4096, &window, 0));
    EXPECT_EQ(window, nullptr);
    expect_working(party);
  });
}

TEST(Registration, WindowsInGroupsAndNonBlocking) {
  run_with_communicators(in_one_thread(3), [](Party& party) {
    std::vector<Buffer> buffers;
    std::vector<ncclWindow_t> windows(3);
    party.each([&](Rank& rank) { buffers.emplace_back(MemoryKind::kNccl, 4096, rank.stream); });
    check(ncclGroupStart());
    party.each([&](Rank& rank) {
      check(ncclCommWindowRegister(rank.comm, buffers[rank.number].data(), 4096,
                                   &windows[rank.number], NCCL_WIN_COLL_SYMMETRIC));
    });
    check(ncclGroupEnd());
    party.each([&](Rank& rank) {
      EXPECT_NE(windows[rank.number], nullptr);
      check(ncclCommWindowDeregister(rank.comm, windows[rank.number]));
    });
  });
  run_ranks(in_processes(2), [](Party& party) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    Rank& rank = party.rank();
    const ncclUniqueId id = party.id(0);
    EXPECT_EQ(ncclCommInitRankConfig(&rank.comm, 2, id, rank.number, &config), ncclInProgress);
    EXPECT_EQ(outcome(rank.comm), ncclSuccess);
    void* memory = nullptr;
    check(ncclMemAlloc(&memory, 4096));
    ncclWindow_t window = nullptr;
    EXPECT_EQ(ncclCommWindowRegister(rank.comm, memory, 4096, &window, 0), ncclInProgress);
    EXPECT_EQ(outcome(rank.comm), ncclSuccess);
    EXPECT_NE(window, nullptr);
    check(ncclCommWindowDeregister(rank.comm, window));
    check(ncclMemFree(memory));
    check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
  });
}

TEST(Registration, ChecksItsArguments) {
  run_with_communicators(in_threads(1), [](Party& party) {
    Rank& rank = party.rank();
    std::array<char, 64> memory{};
    void* handle = nullptr;
    ncclWindow_t window = nullptr;
    expect_refused(ncclCommRegister(rank.comm, nullptr, 8, &handle), ncclInvalidArgument, {"buff"});
    expect_refused(ncclCommRegister(rank.comm, memory.data(), 0, &handle), ncclInvalidArgument,
                   {"size is 0"});
    expect_refused(ncclCommRegister(rank.comm, memory.data(), 8, nullptr), ncclInvalidArgument,
                   {"handle is NULL"});
    expect_refused(ncclCommDeregister(rank.comm, memory.data()), ncclInvalidUsage, {"handle"});
    check(ncclCommDeregister(rank.comm, nullptr));
    expect_refused(ncclCommWindowRegister(rank.comm, nullptr, 8, &window, 0), ncclInvalidArgument,
                   {"buff"});
    expect_refused(ncclCommWindowRegister(rank.comm, memory.data(), 0, &window, 0),
                   ncclInvalidArgument, {"size is 0"});
    expect_refused(ncclCommWindowRegister(rank.comm, memory.data(), 8, nullptr, 0),
                   ncclInvalidArgument, {"win is NULL"});
    expect_refused(ncclCommWindowRegister(rank.comm, memory.data(), 8, &window, 64),
                   ncclInvalidArgument, {"winFlags"});
    expect_refused(ncclCommWindowDeregister(rank.comm, reinterpret_cast<ncclWindow_t>(&party)),
                   ncclInvalidUsage, {"window"});
    expect_working(party);
  });
}

/// Kilobytes of the control page that are in memory.
long control_page_use() {
  std::ifstream file("/proc/self/smaps");
  bool in_page = false;
  long use = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find('-') != std::string::npos && line.find("kB") == std::string::npos) {
      in_page = line.find("ripieno-control") != std::string::npos;
    } else if (in_page && line.starts_with("Rss:")) {
      use += std::stol(line.substr(4));
    }
  }
  return use;
}

TEST(Registration, WindowsAreUsedWithoutCopies) {
  run_with_communicators(in_processes(2), [](Party& party) {
    Rank& rank = party.rank();
    expect_working(party);
    constexpr std::size_t kBytes = 16 << 20;
    void* memory = nullptr;
    check(ncclMemAlloc(&memory, kBytes));
    check(cudaMemset(memory, rank.number + 1, kBytes));
    ncclWindow_t window = nullptr;
    check(ncclCommWindowRegister(rank.comm, memory, kBytes, &window, NCCL_WIN_COLL_SYMMETRIC));
    const long before = control_page_use();
    check(ncclAllReduce(memory, memory, kBytes, ncclInt8, ncclSum, rank.comm, rank.stream));
    party.synchronize();
    party.barrier();
    // Staging areas would show here: those of the page are two times 256 KiB a rank.
    EXPECT_LE(control_page_use() - before, 64);
    std::int8_t last = 0;
    check(cudaMemcpy(&last, static_cast<std::byte*>(memory) + kBytes - 1, 1, cudaMemcpyDefault));
    EXPECT_EQ(last, 3);
    check(ncclCommWindowDeregister(rank.comm, window));
    check(ncclMemFree(memory));
  });
}

}  // namespace
}  // namespace ripieno::test

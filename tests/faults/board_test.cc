// The flight board: what it says of ranks that work, wait and have gone, and the deadlocks that are
// found on it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>

#include "base/error.h"
#include "base/unique_fd.h"
#include "faults/survivors.h"
#include "observe/board_files.h"

namespace ripieno::test {
namespace {

using observe::Board;

/// The board of this process's communicator: the only one of `ranks` ranks in its processes.
Board own_board(std::size_t ranks) {
  for (const Board& board : observe::find_boards()) {
    if (board.ranks.size() == ranks && std::ranges::any_of(board.ranks, [](const auto& rank) {
          return rank.process_id == getpid();
        })) {
      return board;
    }
  }
  ADD_FAILURE() << "this process has no board";
  return {};
}

TEST(FlightBoard, TellsWhatRanksDoAndDid) {
  run_ranks(in_processes(3), [](Party& party) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = "trio";
    party.init(&config);
    Rank& rank = party.rank();
    expect_working(party, 77);
    party.barrier();
    if (rank.number == 0) {
      const Board board = own_board(3);
      EXPECT_EQ(board.name, "trio");
      for (const auto& state : board.ranks) {
        EXPECT_FALSE(state.is_busy());
        EXPECT_EQ(state.finished, 1U);
        EXPECT_EQ(observe::describe(state), "has finished AllReduce #1 (77 x int32)");
      }
    }
    party.barrier();
    const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
    if (rank.number == 0) {
      check(ncclRecv(buffer.data(), 1 << 20, ncclInt8, 2, rank.comm, rank.stream));
      wait_until([] { return own_board(3).ranks[0].is_busy(); }, "rank 0 to be seen waiting");
      const Board board = own_board(3);
      EXPECT_EQ(observe::describe(board.ranks[0]), "is in Recv (1048576 x int8, peer 2)");
      EXPECT_EQ(observe::describe(board.ranks[0].previous), "AllReduce #1 (77 x int32)");
      EXPECT_FALSE(board.ranks[1].is_busy());
    }
    party.barrier();
    if (rank.number == 2) {
      check(ncclSend(buffer.data(), 1 << 20, ncclInt8, 0, rank.comm, rank.stream));
    }
    party.destroy();
  });
}

TEST(FlightBoard, ACollectiveAgainstAMessageIsToldOnBothSides) {
  for (const Placement& placement : {in_threads(2), in_processes(2)}) {
    for (const bool sends : {true, false}) {
      run_ranks(placement, [sends](Party& party) {
        party.init();
        Rank& rank = party.rank();
        const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
        std::byte* const data = buffer.data();
        if (rank.number == 0) {
          check(ncclAllReduce(data, data, 1000, ncclInt32, ncclSum, rank.comm, rank.stream));
        } else if (sends) {
          check(ncclSend(data, 1 << 20, ncclInt8, 0, rank.comm, rank.stream));
        } else {
          check(ncclRecv(data, 1 << 20, ncclInt8, 0, rank.comm, rank.stream));
        }
        check(cudaStreamSynchronize(rank.stream));
        EXPECT_EQ(wait_for_failure(rank.comm), ncclInvalidUsage);
        std::int32_t value = 0;
        expect_refused(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, rank.comm, rank.stream),
                       ncclInvalidUsage,
                       {"AllReduce #1 (1000 x int32)", sends ? "Send" : "Recv", "peer 0"});
        check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
      });
    }
  }
}

TEST(FlightBoard, MessagesThatComeLateAreNoDeadlock) {
  // Rank 2 waits long for rank 0, which is in a message with rank 1.
  run_with_communicators(in_processes(3), [](Party& party) {
    Rank& rank = party.rank();
    const Buffer buffer(MemoryKind::kDevice, 1 << 20, rank.stream);
    if (rank.number == 0) {
      check(ncclSend(buffer.data(), 1 << 20, ncclInt8, 1, rank.comm, rank.stream));
    } else if (rank.number == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(3));
      check(ncclRecv(buffer.data(), 1 << 20, ncclInt8, 0, rank.comm, rank.stream));
    }
    expect_working(party);
  });
}

TEST(FlightBoard, GarbageIsNoBoard) {
  std::mt19937_64 random(5);
  for (const std::size_t bytes : {0UL, 1UL, 255UL, 256UL, 4096UL}) {
    for (int round = 0; round < 50; ++round) {
      const UniqueFd fd(memfd_create("garbage", MFD_CLOEXEC));
      std::vector<std::uint64_t> words(bytes / 8 + 1);
      std::ranges::generate(words, random);
      if (round % 2 == 1) {
        words.front() = observe::FlightHeader::kMagic;
        words[bytes > 16 ? 1 : 0] = (std::uint64_t{128} << 32) | (random() % 100);
      }
      ASSERT_EQ(write(fd.get(), words.data(), bytes), static_cast<ssize_t>(bytes));
      try {
        const Board board = observe::read_board(fd.get());
        EXPECT_LE(board.ranks.size() * 128, bytes);
        for (const auto& state : board.ranks) {
          EXPECT_FALSE(observe::describe(state).empty());
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.result(), ncclInvalidArgument);
      }
    }
  }
}

}  // namespace
}  // namespace ripieno::test

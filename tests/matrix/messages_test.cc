// Send and receive over placements and sizes: around a ring, between all pairs, several in order,
// to oneself.
#include <gtest/gtest.h>

#include <vector>

#include "base/reduce.h"
#include "matrix/sizes.h"
#include "matrix/tables.h"
#include "support/buffer.h"
#include "support/party.h"

namespace ripieno::test {
namespace {

/// Around the inline payload, the eager limit and the staging pieces of messages.
std::vector<std::size_t> message_sizes() {
  std::vector<std::size_t> sizes = {0,      1,      3,       63,      64,
                                    65,     16'383, 16'384,  16'385,  65'535,
                                    65'536, 65'537, 131'071, 131'072, 131'073};
  if (full_matrix()) {
    sizes.insert(sizes.end(), {16, 1000, 196'609, 1'000'003, 3'145'728});
  }
  return sizes;
}

std::vector<std::byte> message(int from, int to, std::size_t bytes, std::size_t salt) {
  std::vector<std::byte> data(bytes);
  fill_from(input_table(ncclUint8, from), 1, salt + 17 * static_cast<std::size_t>(to), data);
  return data;
}

struct Exchange {
  int peer;
  Buffer out;
  Buffer in;
};

/// Every rank sends to and receives from each of `peers_of(rank)` (a symmetric relation) in one
/// group.
template <typename PeersOf>
void exchange_all(Party& party, std::size_t bytes, MemoryKind kind, std::size_t salt,
                  PeersOf peers_of) {
  std::vector<std::vector<Exchange>> exchanges;
  party.each([&](Rank& rank) {
    std::vector<Exchange>& mine = exchanges.emplace_back();
    for (const int peer : peers_of(rank.number)) {
      mine.push_back(
          {peer, Buffer(kind, bytes, rank.stream, salt % 3), Buffer(kind, bytes, rank.stream, 1)});
      mine.back().out.upload(message(rank.number, peer, bytes, salt));
    }
  });
  check(ncclGroupStart());
  std::size_t next = 0;
  party.each([&](Rank& rank) {
    for (const Exchange& exchange : exchanges[next++]) {
      check(ncclSend(exchange.out.data(), bytes, ncclUint8, exchange.peer, rank.comm, rank.stream));
      check(ncclRecv(exchange.in.data(), bytes, ncclUint8, exchange.peer, rank.comm, rank.stream));
    }
  });
  check(ncclGroupEnd());
  party.synchronize();
  next = 0;
  party.each([&](Rank& rank) {
    for (const Exchange& exchange : exchanges[next++]) {
      EXPECT_EQ(exchange.in.download(), message(exchange.peer, rank.number, bytes, salt))
          << bytes << " bytes from " << exchange.peer;
      exchange.in.expect_guards_intact("a received message");
    }
  });
}

class MessageMatrix : public testing::TestWithParam<Placement> {};

TEST_P(MessageMatrix, EveryoneToEveryone) {
  run_with_communicators(GetParam(), [](Party& party) {
    std::size_t salt = 0;
    for (const std::size_t bytes : message_sizes()) {
      for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHeap, MemoryKind::kNccl}) {
        exchange_all(party, bytes, kind, ++salt, [&](int) {
          std::vector<int> peers;
          for (int peer = 0; peer < party.ranks(); ++peer) peers.push_back(peer);
          return peers;
        });
      }
    }
  });
}

TEST_P(MessageMatrix, PingPongWithoutGroups) {
  if (GetParam().parties() != GetParam().ranks || GetParam().ranks < 2) {
    GTEST_SKIP() << "needs a thread for every rank";
  }
  run_with_communicators(GetParam(), [](Party& party) {
    Rank& rank = party.rank();
    if (rank.number > 1) {
      return;
    }
    const int peer = 1 - rank.number;
    std::size_t salt = 0;
    for (const std::size_t bytes : message_sizes()) {
      Buffer buffer(++salt % 2 == 0 ? MemoryKind::kHeap : MemoryKind::kDevice, bytes, rank.stream);
      if (rank.number == 0) {
        buffer.upload(message(0, 1, bytes, salt));
        check(ncclSend(buffer.data(), bytes, ncclInt8, peer, rank.comm, rank.stream));
        check(ncclRecv(buffer.data(), bytes, ncclInt8, peer, rank.comm, rank.stream));
        party.synchronize();
        EXPECT_EQ(buffer.download(), message(1, 0, bytes, salt));
      } else {
        check(ncclRecv(buffer.data(), bytes, ncclInt8, peer, rank.comm, rank.stream));
        party.synchronize();
        EXPECT_EQ(buffer.download(), message(0, 1, bytes, salt));
        buffer.upload(message(1, 0, bytes, salt));
        check(ncclSend(buffer.data(), bytes, ncclInt8, peer, rank.comm, rank.stream));
        party.synchronize();
      }
    }
  });
}

TEST_P(MessageMatrix, SeveralToOnePeerArriveInOrder) {
  run_with_communicators(GetParam(), [](Party& party) {
    constexpr std::array<std::size_t, 9> kSizes = {5, 70'000, 0, 64, 20'000, 1, 200'000, 65, 300};
    std::vector<std::vector<Buffer>> outs;
    std::vector<std::vector<Buffer>> ins;
    const int ranks = party.ranks();
    party.each([&](Rank& rank) {
      outs.emplace_back();
      ins.emplace_back();
      for (std::size_t index = 0; index < kSizes.size(); ++index) {
        const MemoryKind kind = index % 2 == 0 ? MemoryKind::kDevice : MemoryKind::kHeap;
        outs.back().push_back(
            buffer_of(message(rank.number, (rank.number + 1) % ranks, kSizes[index], index),
                      rank.stream, kind));
        ins.back().emplace_back(kind, kSizes[index], rank.stream);
      }
    });
    check(ncclGroupStart());
    std::size_t next = 0;
    party.each([&](Rank& rank) {
      for (const Buffer& out : outs[next]) {
        check(ncclSend(out.data(), out.size(), ncclInt8, (rank.number + 1) % ranks, rank.comm,
                       rank.stream));
      }
      for (const Buffer& in : ins[next]) {
        check(ncclRecv(in.data(), in.size(), ncclInt8, (rank.number + ranks - 1) % ranks, rank.comm,
                       rank.stream));
      }
      ++next;
    });
    check(ncclGroupEnd());
    party.synchronize();
    next = 0;
    party.each([&](Rank& rank) {
      for (std::size_t index = 0; index < kSizes.size(); ++index) {
        EXPECT_EQ(ins[next][index].download(),
                  message((rank.number + ranks - 1) % ranks, rank.number, kSizes[index], index))
            << "message " << index;
      }
      ++next;
    });
  });
}

std::vector<Placement> placements() {
  std::vector<Placement> all = {in_threads(1), in_one_thread(3), in_threads(2), in_processes(2),
                                mixed(5)};
  if (full_matrix()) {
    all.insert(all.end(), {in_threads(5), in_processes(4), in_processes(8), mixed(8),
                           on_one_device(in_processes(3))});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(In, MessageMatrix, testing::ValuesIn(placements()), name_of_parameter);

}  // namespace
}  // namespace ripieno::test

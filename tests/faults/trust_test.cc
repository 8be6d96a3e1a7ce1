// Strangers at the doors of a running job: they connect, send garbage, send slowly, come in crowds.
// They learn nothing, join nothing, and disturb nobody.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string_view>

#include "base/unique_fd.h"
#include "faults/survivors.h"

namespace ripieno::test {
namespace {

using namespace std::chrono_literals;

/// Inodes of this process's sockets.
std::set<std::string> own_sockets() {
  std::set<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target.starts_with("socket:[")) {
      inodes.insert(target.substr(8, target.size() - 9));
    }
  }
  return inodes;
}

/// Where this process listens: ports over TCP, and abstract names.
struct Doors {
  std::vector<sockaddr_in> ports;
  std::vector<std::string> names;

  static Doors of_this_process() {
    Doors doors;
    const std::set<std::string> mine = own_sockets();
    std::ifstream tcp("/proc/self/net/tcp");
    for (std::string line; std::getline(tcp, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retransmit, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retransmit >> user >>
          timeout >> inode;
      if (state == "0A" && mine.contains(inode)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr =
            static_cast<in_addr_t>(std::stoul(local.substr(0, 8), nullptr, 16));
        address.sin_port =
            htons(static_cast<std::uint16_t>(std::stoul(local.substr(9), nullptr, 16)));
        doors.ports.push_back(address);
      }
    }
    std::ifstream local("/proc/self/net/unix");
    for (std::string line; std::getline(local, line);) {
      std::istringstream words(line);
      std::string number, references, protocol, flags, type, state, inode, name;
      words >> number >> references >> protocol >> flags >> type >> state >> inode >> name;
      if (flags == "00010000" && mine.contains(inode)) {
        doors.names.push_back(name);
      }
    }
    return doors;
  }
};

UniqueFd knock(const sockaddr_in& door) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // A door that is not looked after yet says nothing either.
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&door), sizeof door) != 0) {
    fd.reset();
  }
  return fd;
}

UniqueFd knock(const std::string& name) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // "@name" is how the system writes a leading zero.
  std::copy(name.begin() + 1, name.end(), address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    fd.reset();
  }
  return fd;
}

/// What a stranger may say.
std::vector<std::byte> garbage(std::mt19937& random) {
  std::vector<std::byte> bytes(1 + random() % 4000);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

/// Starts a non-blocking init that waits for rank 2, which comes when `bother` has been called on
/// rank 0 with its doors; then all work.
template <typename Bother>
void run_bothered(Bother bother) {
  run_ranks(in_processes(3), [bother](Party& party) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    Rank& rank = party.rank();
    check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
    const ncclUniqueId id = party.id(0);
    if (rank.number != 2) {
      EXPECT_EQ(ncclCommInitRankConfig(&rank.comm, 3, id, rank.number, &config), ncclInProgress);
    }
    if (rank.number == 0) {
      wait_until([] { return Doors::of_this_process().ports.size() >= 2; }, "listeners");
      bother(Doors::of_this_process());
      EXPECT_EQ(async_error(rank.comm), ncclInProgress);
    }
    party.barrier();
    if (rank.number == 2) {
      EXPECT_EQ(ncclCommInitRankConfig(&rank.comm, 3, id, 2, &config), ncclInProgress);
    }
    EXPECT_EQ(outcome(rank.comm), ncclSuccess);
    expect_working(party);
    if (rank.number == 0) {
      // Once all are together nothing listens for ranks any more.
      wait_until([] { return Doors::of_this_process().ports.empty(); }, "the listeners' end");
    }
    party.destroy();
  });
}

TEST(Trust, GarbageOnEveryListener) {
  run_bothered([](const Doors& doors) {
    std::mt19937 random(11);
    for (int round = 0; round < 20; ++round) {
      const std::vector<std::byte> bytes = garbage(random);
      for (const sockaddr_in& port : doors.ports) {
        const UniqueFd fd = knock(port);
        send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
      for (const std::string& name : doors.names) {
        const UniqueFd fd = knock(name);
        send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
    }
  });
}

TEST(Trust, AFloodOfTwoThousandConnections) {
  run_bothered([](const Doors& doors) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<UniqueFd> crowd;
    for (int stranger = 0; stranger < 2000; ++stranger) {
      UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const sockaddr_in& door =
          doors.ports[static_cast<std::size_t>(stranger) % doors.ports.size()];
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&door), sizeof door);
      if (fd) {
        crowd.push_back(std::move(fd));
      }
    }
    EXPECT_GT(crowd.size(), 500U);
  });
}

TEST(Trust, ACrowdAtTheDoorsThatHandOutDescriptors) {
  run_with_communicators(in_processes(3), [](Party& party) {
    const Doors doors = Doors::of_this_process();
    ASSERT_FALSE(doors.names.empty());
    std::vector<UniqueFd> crowd;
    for (int stranger = 0; stranger < 300; ++stranger) {
      crowd.push_back(knock(doors.names.front()));
    }
    // A split hands out descriptors through those doors.
    Rank& rank = party.rank();
    party.barrier();
    ncclComm_t child = nullptr;
    check(ncclCommSplit(rank.comm, 0, 0, &child, nullptr));
    check(ncclCommDestroy(child));
    expect_working(party);
  });
}

TEST(Trust, ASlowDripIsDroppedAndHoldsNobodyUp) {
  run_bothered([](const Doors& doors) {
    std::vector<UniqueFd> drips;
    for (const sockaddr_in& port : doors.ports) {
      drips.push_back(knock(port));
    }
    // The beginning of an honest hello, a byte at a time: longer than a handshake may take.
    constexpr std::string_view kHello = "rBootsh1\x02";
    bool dropped = false;
    for (std::size_t second = 0; second < 30 && !dropped; ++second) {
      for (const UniqueFd& drip : drips) {
        char answer = 0;
        send(drip.get(), &kHello[second % kHello.size()], 1, MSG_NOSIGNAL);
        const ssize_t received = recv(drip.get(), &answer, 1, MSG_DONTWAIT);
        // A rank that waits at the rendezvous looks after its own door later; the rendezvous drops.
        dropped |= received == 0 || (received < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
      }
      std::this_thread::sleep_for(1s);
    }
    EXPECT_TRUE(dropped);
  });
}

TEST(Trust, StrangersLearnNothing) {
  run_bothered([](const Doors& doors) {
    // Nothing is said to who has not said a whole hello, whatever it says instead.
    for (const sockaddr_in& port : doors.ports) {
      const UniqueFd fd = knock(port);
      const std::string request = "GET / HTTP/1.0\r\n\r\n";
      send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
      std::array<char, 64> answer{};
      EXPECT_LE(recv(fd.get(), answer.data(), answer.size(), 0), 0);
    }
  });
}

TEST(Trust, DescriptorConversationsAreGoodForOneConnectionOnly) {
  run_with_communicators(in_processes(2), [](Party& party) {
    const Doors doors = Doors::of_this_process();
    ASSERT_FALSE(doors.names.empty());
    // Any hello is answered with a fresh challenge, so what was recorded once is worth nothing.
    std::array<std::byte, 48> hello{};
    constexpr std::uint32_t kMagic = 0x72697031;
    std::memcpy(hello.data(), &kMagic, sizeof kMagic);
    for (std::uint64_t id = 0; id < 20; ++id) {
      const UniqueFd fd = knock(doors.names.front());
      std::memcpy(hello.data() + 8, &id, sizeof id);
      send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
      std::array<std::byte, 64> challenge{};
      const ssize_t received = recv(fd.get(), challenge.data(), challenge.size(), 0);
      if (received <= 0) {
        continue;
      }
      // The server's own proof sent back as ours.
      send(fd.get(), challenge.data() + 32, 32, MSG_NOSIGNAL);
      std::array<std::byte, 256> grant{};
      EXPECT_LE(recv(fd.get(), grant.data(), grant.size(), 0), 0);
    }
    expect_working(party);
  });
}

}  // namespace
}  // namespace ripieno::test

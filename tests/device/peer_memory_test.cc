// Device memory between real processes: a child allocates and offers, this process maps, reads and
// writes.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/device.h"

namespace ripieno::device {
namespace {

constexpr std::chrono::milliseconds kPatience{20000};

template <typename Value>
void send_value(int socket, const Value& value) {
  if (::send(socket, &value, sizeof(value), MSG_NOSIGNAL) != sizeof(value))
    throw std::runtime_error("send");
}

template <typename Value>
Value receive_value(int socket) {
  Value value;
  if (::recv(socket, &value, sizeof(value), MSG_WAITALL) != sizeof(value))
    throw std::runtime_error("recv");
  return value;
}

/// A process of its own that runs `body` with a socket to this one. Forked before this process has
/// used a device.
class Peer {
 public:
  explicit Peer(const std::function<void(int socket)>& body) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      throw std::runtime_error("socketpair");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(pair[0]);
      try {
        body(pair[1]);
        ::_exit(0);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "peer: %s\n", error.what());
        ::_exit(1);
      }
    }
    ::close(pair[1]);
    socket_ = pair[0];
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(socket_);
  }

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() const { ::kill(pid_, SIGKILL); }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

/// Allocates a word at the first request, and shows its value at each further one.
void serve_one_word(int socket) {
  auto* word = static_cast<std::uint64_t*>(backend().device(0).allocate(sizeof(std::uint64_t)));
  *word = 1;
  send_value(socket, backend().memory_ticket());
  send_value(socket, *backend().share_offset(word));
  while (true) {
    static_cast<void>(receive_value<char>(socket));
    auto* later = static_cast<std::uint64_t*>(backend().device(1).allocate(std::size_t{1} << 20));
    later[100] = *word + 1000;
    send_value(socket, *backend().share_offset(&later[100]));
  }
}

/// As a test that forks must not have threads, all tests of this file run in a fresh child of the
/// test program.
void in_fresh_process(const std::function<void()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

std::uint64_t* word_at(const PeerMemory& memory, std::uint64_t offset) {
  return reinterpret_cast<std::uint64_t*>(memory.bytes().data() + offset);
}

TEST(PeerMemory, IsSharedBothWaysAndGrows) {
  in_fresh_process([] {
    const Peer peer(serve_one_word);
    const auto ticket = receive_value<MemoryTicket>(peer.socket());
    const auto offset = receive_value<std::uint64_t>(peer.socket());
    const std::shared_ptr<PeerMemory> memory = backend().import_memory(ticket, kPatience);
    EXPECT_EQ(memory->process_id(), peer.pid());
    EXPECT_EQ(*word_at(*memory, offset), 1U);
    *word_at(*memory, offset) = 5;
    send_value(peer.socket(), 'x');
    EXPECT_EQ(*word_at(*memory, receive_value<std::uint64_t>(peer.socket())), 1005U);
  });
}

TEST(PeerMemory, IsMappedOnceAndUnmappedWithTheLastHolder) {
  in_fresh_process([] {
    const Peer peer(serve_one_word);
    const auto ticket = receive_value<MemoryTicket>(peer.socket());
    std::shared_ptr<PeerMemory> first = backend().import_memory(ticket, kPatience);
    std::vector<std::shared_ptr<PeerMemory>> others(4);
    {
      std::vector<std::jthread> threads;
      for (auto& other : others) {
        threads.emplace_back([&] { other = backend().import_memory(ticket, kPatience); });
      }
    }
    for (const auto& other : others) EXPECT_EQ(other, first);
    const std::weak_ptr<PeerMemory> watched = first;
    first.reset();
    others.clear();
    EXPECT_TRUE(watched.expired());
    EXPECT_NE(backend().import_memory(ticket, kPatience), nullptr);
  });
}

TEST(PeerMemory, TheLinkHangsUpWhenThePeerDies) {
  in_fresh_process([] {
    const Peer peer(serve_one_word);
    const auto ticket = receive_value<MemoryTicket>(peer.socket());
    const std::shared_ptr<PeerMemory> memory = backend().import_memory(ticket, kPatience);
    pollfd wait{memory->link(), POLLIN | POLLRDHUP, 0};
    EXPECT_EQ(::poll(&wait, 1, 0), 0);
    peer.kill();
    EXPECT_EQ(::poll(&wait, 1, static_cast<int>(kPatience.count())), 1);
  });
}

TEST(PeerMemory, OfThisProcessIsItsOwnArena) {
  in_fresh_process([] {
    auto* word = static_cast<std::uint64_t*>(backend().device(0).allocate(8));
    const std::shared_ptr<PeerMemory> memory =
        backend().import_memory(backend().memory_ticket(), kPatience);
    EXPECT_EQ(word_at(*memory, *backend().share_offset(word)), word);
    EXPECT_EQ(memory->process_id(), ::getpid());
    EXPECT_EQ(memory->link(), -1);
  });
}

TEST(PeerMemory, AWrongSecretOpensNothing) {
  in_fresh_process([] {
    const Peer peer(serve_one_word);
    auto ticket = receive_value<MemoryTicket>(peer.socket());
    const std::shared_ptr<PeerMemory> right = backend().import_memory(ticket, kPatience);
    ticket.arena.secret[0] ^= std::byte{1};
    EXPECT_THROW(static_cast<void>(backend().import_memory(ticket, kPatience)), Error);
  });
}

TEST(PeerMemory, AGoneProcessIsAnErrorNotAWait) {
  in_fresh_process([] {
    MemoryTicket ticket{};
    {
      const Peer peer(serve_one_word);
      ticket = receive_value<MemoryTicket>(peer.socket());
    }
    try {
      static_cast<void>(backend().import_memory(ticket, kPatience));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.result(), ncclRemoteError);
      EXPECT_TRUE(std::string(error.what()).starts_with("importing the memory of a peer process: "))
          << error.what();
    }
  });
}

}  // namespace
}  // namespace ripieno::device

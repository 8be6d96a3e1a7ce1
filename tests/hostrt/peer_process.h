// A second real process: the program hostrt_peer, started with a role and talked to over a pair of
// pipes. It is killed and reaped with this object.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

extern char** environ;

namespace ripieno::hostrt {

class PeerProcess {
 public:
  explicit PeerProcess(const std::string& role) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    EXPECT_EQ(pipe2(to.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(from.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::string program = RIPIENO_HOSTRT_PEER;
    std::string argument = role;
    std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  ~PeerProcess() {
    close(to_);
    close(from_);
    kill();
  }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] int pid() const { return pid_; }

  template <class Value>
  void send(const Value& value) {
    EXPECT_EQ(write(to_, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class Value>
  Value receive() {
    Value value{};
    std::size_t got = 0;
    while (got < sizeof value) {
      const ssize_t count = read(from_, reinterpret_cast<char*>(&value) + got, sizeof value - got);
      if (count <= 0) {
        ADD_FAILURE() << "the peer process hung up";
        break;
      }
      got += static_cast<std::size_t>(count);
    }
    return value;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace ripieno::hostrt

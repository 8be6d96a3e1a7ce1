// A request is one packet to the launcher: header, closure, environment. Answers are packets too: a
// process has started, something failed in it, it has ended.
#include "support/launcher.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "support/board.h"
#include "support/check.h"

namespace ripieno::test {
namespace {

constexpr std::size_t kPacketBytes = 32 << 10;

struct RequestHeader {
  int processes;
  void (*invoke)(const void* closure, int process);
  std::size_t closure_bytes;
  std::size_t environment_bytes;
};

struct Answer {
  enum class Kind : int { kStarted, kFailure, kEnded } kind;
  int process;
  int value;  ///< Process id, or status of waitpid().
  std::array<char, 8192> text;
};

int test_end = -1;      ///< The test's end of the socket pair.
int launcher_end = -1;  ///< The launcher's and its children's end.
pid_t launcher_id = -1;

void answer(Answer::Kind kind, int process, int value, const std::string& text) {
  Answer packet{.kind = kind, .process = process, .value = value, .text = {}};
  const std::size_t length = std::min(text.size(), packet.text.size() - 1);
  std::memcpy(packet.text.data(), text.data(), length);
  send(launcher_end, &packet, offsetof(Answer, text) + length + 1, MSG_NOSIGNAL);
}

/// Sends every failed expectation home.
class FailureSender final : public testing::EmptyTestEventListener {
 public:
  explicit FailureSender(int process) : process_(process) {}
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed()) {
      const char* const file = result.file_name() != nullptr ? result.file_name() : "?";
      answer(
          Answer::Kind::kFailure, process_, 0,
          std::string(file) + ":" + std::to_string(result.line_number()) + ": " + result.message());
    }
  }

 private:
  int process_;
};

void run_child(const RequestHeader& header, const char* closure, const char* environment,
               int process) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const char* entry = environment; entry < environment + header.environment_bytes;
       entry += std::strlen(entry) + 1) {
    const std::string setting(entry);
    const std::size_t equals = setting.find('=');
    setenv(setting.substr(0, equals).c_str(), entry + equals + 1, 1);
  }
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailureSender(process));
  board().process_ids[static_cast<std::size_t>(process)] = getpid();
  header.invoke(closure, process);
}

/// The launcher's life: one request after the other until the test closes its end.
[[noreturn]] void serve() {
  static std::array<char, kPacketBytes> packet;
  for (;;) {
    const ssize_t received = recv(launcher_end, packet.data(), packet.size(), 0);
    if (received <= 0) {
      _exit(0);
    }
    RequestHeader header;
    std::memcpy(&header, packet.data(), sizeof header);
    const char* const closure = packet.data() + sizeof header;
    std::map<pid_t, int> children;
    for (int process = 0; process < header.processes; ++process) {
      const pid_t child = fork();
      if (child == 0) {
        run_child(header, closure, closure + header.closure_bytes, process);
        std::exit(0);
      }
      children[child] = process;
      answer(Answer::Kind::kStarted, process, child, "");
    }
    while (!children.empty()) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, 0);
      answer(Answer::Kind::kEnded, children[ended], status, "");
      children.erase(ended);
    }
  }
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("was ended by signal ") + strsignal(WTERMSIG(status));
  }
  return "exited with " + std::to_string(WEXITSTATUS(status)) +
         (WEXITSTATUS(status) == 23 ? " (memory leak)" : "") +
         (WEXITSTATUS(status) == 66 ? " (data race)" : "");
}

void judge_end(int process, int status, const RunOptions& options) {
  const bool must_be_killed =
      std::find(options.killed.begin(), options.killed.end(), process) != options.killed.end();
  if (must_be_killed) {
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "process " << process << " should have been killed but " << describe(status);
  } else {
    EXPECT_EQ(status, 0) << "process " << process << " " << describe(status);
  }
}

void send_request(int processes, const Job& job, const RunOptions& options) {
  std::string environment;
  for (const std::string& entry : options.environment) {
    environment += entry;
    environment += '\0';
  }
  const RequestHeader header{.processes = processes,
                             .invoke = job.invoke,
                             .closure_bytes = job.bytes,
                             .environment_bytes = environment.size()};
  std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
  packet.append(static_cast<const char*>(job.closure), job.bytes);
  packet += environment;
  ASSERT_LE(packet.size(), kPacketBytes);
  ASSERT_EQ(send(test_end, packet.data(), packet.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(packet.size()));
}

}  // namespace

void start_launcher() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) {
    std::perror("cannot start the launcher");
    std::abort();
  }
  test_end = ends[0];
  launcher_end = ends[1];
  launcher_id = fork();
  if (launcher_id == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(test_end);
    serve();
  }
  close(launcher_end);
}

void stop_launcher() {
  close(test_end);
  waitpid(launcher_id, nullptr, 0);
}

void launch(int processes, const Job& job, const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  clear_board();
  send_request(processes, job, options);
  const auto end = Clock::now() + options.limit * kSlowdown;
  std::map<int, pid_t> running;
  bool out_of_time = false;
  for (int open = processes; open > 0;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd readable{.fd = test_end, .events = POLLIN, .revents = 0};
    const int timeout = out_of_time ? -1 : static_cast<int>(std::max<long>(0, left.count()));
    if (poll(&readable, 1, timeout) == 0) {
      out_of_time = true;
      ADD_FAILURE() << "the run took longer than " << (options.limit * kSlowdown).count()
                    << " s; ending " << running.size() << " of " << processes << " processes";
      for (const auto& [process, id] : running) {
        kill(id, SIGKILL);
      }
      continue;
    }
    Answer packet;
    if (recv(test_end, &packet, sizeof packet, 0) <= 0) {
      FAIL() << "the launcher is gone";
    }
    switch (packet.kind) {
      case Answer::Kind::kStarted:
        running[packet.process] = packet.value;
        break;
      case Answer::Kind::kFailure:
        ADD_FAILURE() << "in process " << packet.process << ": " << packet.text.data();
        break;
      case Answer::Kind::kEnded:
        running.erase(packet.process);
        --open;
        if (!out_of_time) {
          judge_end(packet.process, packet.value, options);
        }
        break;
    }
  }
}

}  // namespace ripieno::test

// Helpers for tests of the bootstrap: ranks as threads of the test, or as processes that are forked
// before any thread exists and talk to the test through pipes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nccl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/cancellation.h"
#include "base/error.h"
#include "base/parameters.h"
#include "bootstrap/bootstrap.h"

namespace ripieno::bootstrap::testing {

using std::chrono::milliseconds;

/// How a rank's part ended.
struct Outcome {
  ncclResult_t result = ncclSuccess;
  std::string sentence;
};

/// Runs `body` and turns an Error into its outcome.
inline Outcome outcome_of(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {error.result(), error.what()};
  } catch (const std::exception& error) {
    return {ncclInternalError, std::string("unexpected: ") + error.what()};
  }
}

/// Runs `body(rank)` in a thread for every rank and returns how each ended.
inline std::vector<Outcome> run_threads(int ranks, const std::function<void(int)>& body) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back(
        [&, rank] { outcomes[static_cast<std::size_t>(rank)] = outcome_of([&] { body(rank); }); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

inline void expect_all_succeed(const std::vector<Outcome>& outcomes) {
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(outcomes[rank].result, ncclSuccess)
        << "rank " << rank << ": " << outcomes[rank].sentence;
  }
}

/// Joins with one id and a Cancellation that lives as long as the result's user.
inline std::unique_ptr<Bootstrap> join_one(const ncclUniqueId& id, int rank, int ranks,
                                           milliseconds timeout = milliseconds(20'000)) {
  static Cancellation never;
  return join({&id, 1}, {.rank = rank, .ranks = ranks}, timeout, never);
}

inline std::size_t count_entries(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}
inline std::size_t open_descriptors() {
  return count_entries("/proc/self/fd");
}
inline std::size_t running_threads() {
  return count_entries("/proc/self/task");
}
/// The thread sanitizer adds one of its own later.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kSanitizerThreads = 1;
#else
inline constexpr std::size_t kSanitizerThreads = 0;
#endif
inline const std::size_t kThreadsAtStart = running_threads() + kSanitizerThreads;

/// Waits until `condition` holds; for things that end a moment later on another thread.
inline bool eventually(const std::function<bool()>& condition,
                       milliseconds limit = milliseconds(10'000)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

/// Ranks in processes of their own. Rank 0 makes the id and the test passes it on.
class Processes {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  /// Forks; each child sets `environment`, gets the id and runs `body(rank, id)`, whose outcome
  /// comes back. Call it while the test has one thread.
  Processes(int ranks, const std::function<void(int, const ncclUniqueId&)>& body,
            Environment environment = {})
      : environment_(std::move(environment)) {
    // Threads of earlier tests may be about to end; a fork should not meet them.
    EXPECT_TRUE(eventually([] { return running_threads() <= kThreadsAtStart; }));
    for (int rank = 0; rank < ranks; ++rank) start(rank, body);
    ncclUniqueId id;
    read_all(children_[0].from, &id, sizeof(id));
    for (int rank = 1; rank < ranks; ++rank)
      write_all(children_[static_cast<std::size_t>(rank)].to, &id, sizeof(id));
  }
  ~Processes() {
    for (Child& child : children_) {
      if (child.pid > 0) {
        ::kill(child.pid, SIGKILL);
        ::waitpid(child.pid, nullptr, 0);
      }
      ::close(child.to);
      ::close(child.from);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  [[nodiscard]] pid_t pid(int rank) const { return children_[static_cast<std::size_t>(rank)].pid; }
  void kill(int rank) { ::kill(pid(rank), SIGKILL); }

  /// Waits for a rank; a killed one has no outcome and comes back with ncclNumResults.
  Outcome outcome(int rank) {
    Child& child = children_[static_cast<std::size_t>(rank)];
    Outcome outcome{ncclNumResults, "killed"};
    std::uint32_t header[2];
    if (read_all(child.from, header, sizeof(header))) {
      outcome.result = static_cast<ncclResult_t>(header[0]);
      outcome.sentence.resize(header[1]);
      read_all(child.from, outcome.sentence.data(), header[1]);
    }
    ::waitpid(child.pid, nullptr, 0);
    child.pid = -1;
    return outcome;
  }

 private:
  struct Child {
    pid_t pid;
    int to;
    int from;
  };

  static bool read_all(int fd, void* to, std::size_t bytes) {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t count = ::read(fd, at, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += count;
      bytes -= static_cast<std::size_t>(count);
    }
    return true;
  }
  static void write_all(int fd, const void* from, std::size_t bytes) {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t count = ::write(fd, at, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      at += count;
      bytes -= static_cast<std::size_t>(count);
    }
  }

  void start(int rank, const std::function<void(int, const ncclUniqueId&)>& body) {
    int down[2];
    int up[2];
    ASSERT_EQ(::pipe2(down, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(up, O_CLOEXEC), 0);
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      ::close(down[1]);
      ::close(up[0]);
      for (const auto& [name, value] : environment_) ::setenv(name.c_str(), value.c_str(), 1);
      reload_parameters();
      ncclUniqueId id{};
      const Outcome outcome = outcome_of([&] {
        if (rank == 0) {
          const Outcome made = outcome_of([&] { id = create_unique_id(); });
          write_all(up[1], &id, sizeof(id));
          if (made.result != ncclSuccess) throw Error(made.result, "{}", made.sentence);
        } else {
          read_all(down[0], &id, sizeof(id));
        }
        body(rank, id);
      });
      const std::uint32_t header[2] = {static_cast<std::uint32_t>(outcome.result),
                                       static_cast<std::uint32_t>(outcome.sentence.size())};
      write_all(up[1], header, sizeof(header));
      write_all(up[1], outcome.sentence.data(), outcome.sentence.size());
      // No destructors of the test's process in a child.
      ::_exit(0);
    }
    ::close(down[0]);
    ::close(up[1]);
    children_.push_back({pid, down[1], up[0]});
  }

  Environment environment_;
  std::vector<Child> children_;
};

}  // namespace ripieno::bootstrap::testing

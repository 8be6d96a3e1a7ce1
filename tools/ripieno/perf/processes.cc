// Fork, wait, forward signals, reap.
#include "perf/processes.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/deadline.h"
#include "base/error.h"
#include "command.h"

namespace ripieno::tool::perf {
namespace {

/// How long the others may take to end once one has failed or the user asked for the end.
constexpr std::chrono::seconds kGrace{10};

/// Signals that the watching process waits for, blocked while the object lives.
class WatchedSignals {
 public:
  WatchedSignals() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  WatchedSignals(const WatchedSignals&) = delete;
  WatchedSignals& operator=(const WatchedSignals&) = delete;
  ~WatchedSignals() { restore(); }

  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  /// The next signal, or 0 after `patience`.
  [[nodiscard]] int wait(std::chrono::milliseconds patience) const {
    const timespec length{patience.count() / 1000, patience.count() % 1000 * 1'000'000};
    const int signal = ::sigtimedwait(&signals_, nullptr, &length);
    return signal > 0 ? signal : 0;
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

class Watch {
 public:
  explicit Watch(int ranks_each) : ranks_each_(ranks_each) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  /// Kills and reaps what is left, when an exception ends the watch.
  ~Watch() {
    signal_all(SIGKILL);
    for (const Child& child : children_) {
      if (child.running) ::waitpid(child.pid, nullptr, 0);
    }
  }

  void add(pid_t pid) { children_.push_back({pid, true}); }

  int run(const WatchedSignals& signals) {
    while (running() > 0) {
      const int signal = signals.wait(std::chrono::milliseconds(200));
      if (signal != 0 && signal != SIGCHLD) interrupt(signal);
      reap();
      if (give_up_.expired()) kill_rest();
    }
    return interrupted_by_ != 0 ? 128 + interrupted_by_ : exit_code_;
  }

 private:
  struct Child {
    pid_t pid;
    bool running;
  };

  [[nodiscard]] std::ptrdiff_t running() const {
    return std::ranges::count(children_, true, &Child::running);
  }

  void signal_all(int signal) const {
    for (const Child& child : children_) {
      if (child.running) ::kill(child.pid, signal);
    }
  }

  void interrupt(int signal) {
    interrupted_by_ = signal;
    signal_all(signal);
    if (give_up_.is_never()) give_up_ = Deadline::after(kGrace);
  }

  void reap() {
    for (std::size_t index = 0; index < children_.size(); ++index) {
      Child& child = children_[index];
      int status = 0;
      if (!child.running || ::waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
      child.running = false;
      note_end(index, status);
    }
  }

  /// "rank 2 (pid 77)", or "process 1 with ranks 4 to 7 (pid 77)".
  [[nodiscard]] std::string describe(std::size_t index) const {
    const int first = static_cast<int>(index) * ranks_each_;
    if (ranks_each_ == 1) return fmt::format("rank {} (pid {})", first, children_[index].pid);
    return fmt::format("process {} with ranks {} to {} (pid {})", index, first,
                       first + ranks_each_ - 1, children_[index].pid);
  }

  void note_end(std::size_t index, int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
    if (code == 0) return;
    if (exit_code_ != kExitBadUsage)
      exit_code_ = code == kExitBadUsage ? kExitBadUsage : kExitFailed;
    if (WIFSIGNALED(status) && interrupted_by_ == 0 && !killed_rest_) {
      fmt::print(stderr, "ripieno perf: {} was killed by signal {} ({})\n", describe(index),
                 WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    } else if (code != kExitFailed && code != kExitBadUsage) {
      fmt::print(stderr, "ripieno perf: {} ended with exit code {}\n", describe(index), code);
    }
    if (give_up_.is_never()) give_up_ = Deadline::after(kGrace);
  }

  void kill_rest() {
    if (killed_rest_) return;
    killed_rest_ = true;
    fmt::print(stderr, "ripieno perf: killed {} processes that did not end within {} s\n",
               running(), kGrace.count());
    signal_all(SIGKILL);
  }

  std::vector<Child> children_;
  int ranks_each_;
  int exit_code_ = kExitOk;
  int interrupted_by_ = 0;
  bool killed_rest_ = false;
  Deadline give_up_ = Deadline::never();  ///< When what is left is killed.
};

[[noreturn]] void run_child(pid_t parent, const WatchedSignals& signals, Team team,
                            const std::function<int(Team)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitFailed);  // The parent died before the request was made.
  signals.restore();
  const int code = body(std::move(team));
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

int run_processes(int processes, int ranks_each, const std::function<int(Team)>& body) {
  std::vector<std::vector<UniqueFd>> star = make_star(processes);
  const WatchedSignals signals;
  Watch watch(ranks_each);
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  for (int process = 0; process < processes; ++process) {
    const pid_t pid = ::fork();
    if (pid < 0) throw Error::system("starting a process", errno);
    if (pid == 0) {
      std::vector<UniqueFd> mine = std::move(star[static_cast<std::size_t>(process)]);
      star.clear();  // Else nobody would ever see the others hang up.
      run_child(parent, signals, Team(process, processes, std::move(mine)), body);
    }
    watch.add(pid);
  }
  star.clear();
  return watch.run(signals);
}

}  // namespace ripieno::tool::perf

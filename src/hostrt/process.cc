// Fork detection and thread start; see process.h.
#include "hostrt/process.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <utility>

#include "hostrt/arena.h"
#include "hostrt/runtime.h"

namespace ripieno::hostrt {
namespace {

std::atomic<bool> g_started{false};
std::atomic<bool> g_forked{false};
std::atomic<const ForkHooks*> g_hooks{nullptr};

void before_fork() {
  if (const ForkHooks* hooks = g_hooks.load()) hooks->before();
}

void after_fork_in_parent() {
  if (const ForkHooks* hooks = g_hooks.load()) hooks->after_parent();
}

void after_fork_in_child() {
  if (!g_started.load()) return;
  g_forked.store(true);
  if (const ForkHooks* hooks = g_hooks.load()) hooks->after_child();
  Arena::abandon_after_fork();
}

}  // namespace

void mark_started() noexcept {
  if (g_started.load(std::memory_order_acquire)) return;
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    g_started.store(true, std::memory_order_release);
  });
}

bool forked() noexcept {
  return g_forked.load(std::memory_order_relaxed);
}

void check_process() {
  if (forked()) [[unlikely]] {
    throw RuntimeError(cudaErrorInitializationError,
                       "the host runtime was started before this process was forked; start it in "
                       "the child only, or "
                       "exec a new program");
  }
}

void set_fork_hooks(ForkHooks hooks) noexcept {
  static ForkHooks kept;
  kept = hooks;
  g_hooks.store(&kept);
}

std::thread start_thread(const char* name, std::function<void()> body) {
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{previous};
  return std::thread([name, body = std::move(body)] {
    pthread_setname_np(pthread_self(), name);
    body();
  });
}

}  // namespace ripieno::hostrt

// What concerns the process as a whole: whether it is a fork of one in which the runtime had
// started (then nothing works here any more, as with a GPU), and how the runtime starts its
// threads.
#pragma once

#include <functional>
#include <thread>

namespace ripieno::hostrt {

/// Notes that the runtime has state a forked child must not touch. Cheap after the first call.
void mark_started() noexcept;

/// True in a child that was forked after the runtime had started.
bool forked() noexcept;

/// Throws RuntimeError(cudaErrorInitializationError) if forked().
void check_process();

/// What the fork handlers call around a fork: `before` and `after_parent` in the parent,
/// `after_child` in the child.
struct ForkHooks {
  void (*before)() noexcept;
  void (*after_parent)() noexcept;
  void (*after_child)() noexcept;
};
/// The share server's hooks (the one part that holds descriptors a child must drop).
void set_fork_hooks(ForkHooks hooks) noexcept;

/// Starts a thread with all signals blocked, named `name` (at most 15 characters). Throws
/// std::system_error.
std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace ripieno::hostrt

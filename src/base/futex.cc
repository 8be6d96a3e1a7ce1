// The futex system call, with an absolute deadline so that an interrupted wait resumes with what is
// left of its time.
#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace ripieno {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

constexpr long kNanosecondsPerSecond = 1'000'000'000;
/// A wait this long is as good as endless, and adding it to the clock cannot overflow.
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(24 * 365);

int operation(int base, FutexScope scope) noexcept {
  return scope == FutexScope::kPrivate ? base | FUTEX_PRIVATE_FLAG : base;
}

timespec absolute(std::chrono::nanoseconds timeout) noexcept {
  timespec end;
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += static_cast<time_t>(timeout.count() / kNanosecondsPerSecond);
  end.tv_nsec += static_cast<long>(timeout.count() % kNanosecondsPerSecond);
  if (end.tv_nsec >= kNanosecondsPerSecond) {
    end.tv_nsec -= kNanosecondsPerSecond;
    ++end.tv_sec;
  }
  return end;
}

}  // namespace

bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds timeout, FutexScope scope) noexcept {
  const bool endless = timeout.count() < 0 || timeout > kLongestWait;
  timespec end{};
  if (!endless) end = absolute(timeout);
  while (true) {
    const long result = ::syscall(SYS_futex, &word, operation(FUTEX_WAIT_BITSET, scope), expected,
                                  endless ? nullptr : &end, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result == 0 || errno == EAGAIN) return true;
    if (errno == ETIMEDOUT) return false;
    if (errno != EINTR) return true;
  }
}

int futex_wake(const std::atomic<std::uint32_t>& word, int count, FutexScope scope) noexcept {
  const long woken = ::syscall(SYS_futex, &word, operation(FUTEX_WAKE, scope), count);
  return woken < 0 ? 0 : static_cast<int>(woken);
}

}  // namespace ripieno

// Sleeping on a 32-bit word: the one primitive below every blocking wait of the runtime. A word
// that lives in memory shared with other processes needs the shared form; all others use the
// private one, which the kernel finds faster.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace ripieno::hostrt {

enum class FutexScope { kProcess, kHost };

/// Sleeps while `word` holds `expected`, until woken, interrupted or `timeout` has passed (zero: no
/// limit). The caller looks at its condition again in any case.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::chrono::nanoseconds timeout = std::chrono::nanoseconds{0},
                       FutexScope scope = FutexScope::kProcess) noexcept {
  const int operation = FUTEX_WAIT | (scope == FutexScope::kProcess ? FUTEX_PRIVATE_FLAG : 0);
  timespec limit{.tv_sec = static_cast<time_t>(timeout.count() / 1'000'000'000),
                 .tv_nsec = static_cast<long>(timeout.count() % 1'000'000'000)};
  syscall(SYS_futex, &word, operation, expected, timeout.count() > 0 ? &limit : nullptr, nullptr,
          0);
}

/// Wakes everyone who sleeps on `word`.
inline void futex_wake_all(std::atomic<std::uint32_t>& word,
                           FutexScope scope = FutexScope::kProcess) noexcept {
  const int operation = FUTEX_WAKE | (scope == FutexScope::kProcess ? FUTEX_PRIVATE_FLAG : 0);
  syscall(SYS_futex, &word, operation, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace ripieno::hostrt

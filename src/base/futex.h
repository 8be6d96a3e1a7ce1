// Sleeping on a 32-bit word: the kernel checks that the word still has the expected value and puts
// the thread to sleep until somebody wakes the word. Works on memory shared between processes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ripieno {

/// kPrivate: all sleepers and wakers are threads of this process (cheaper). kShared: the word lies
/// in memory that several processes map.
enum class FutexScope : std::uint8_t { kPrivate, kShared };

/// Sleeps while `word` is `expected`, at most `timeout` (negative: without end). False when the
/// time is up; true otherwise, also without cause: check your condition again. Signals do not end
/// the wait.
bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds timeout, FutexScope scope) noexcept;

/// Wakes at most `count` sleepers of `word`; returns how many there were.
int futex_wake(const std::atomic<std::uint32_t>& word, int count, FutexScope scope) noexcept;

}  // namespace ripieno

// A point in time by which something must have happened. Made once from a duration and handed down,
// so that nested waits share one budget instead of each starting its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace ripieno {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// `length` from now; a length too large for the clock never ends.
  [[nodiscard]] static Deadline after(std::chrono::milliseconds length) noexcept {
    const Clock::time_point now = Clock::now();
    if (length >=
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::time_point::max() - now)) {
      return never();
    }
    return Deadline(now + length);
  }
  [[nodiscard]] static Deadline never() noexcept { return Deadline(Clock::time_point::max()); }

  [[nodiscard]] bool is_never() const noexcept { return end_ == Clock::time_point::max(); }
  [[nodiscard]] bool expired() const noexcept { return !is_never() && Clock::now() >= end_; }
  [[nodiscard]] Clock::time_point end() const noexcept { return end_; }

  /// What is left, never negative. Rounded up, so that waiting this long reaches the end.
  [[nodiscard]] std::chrono::milliseconds remaining() const noexcept {
    if (is_never()) return std::chrono::milliseconds::max();
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()),
                    std::chrono::milliseconds::zero());
  }

  /// remaining() as poll() wants it: -1 for no end.
  [[nodiscard]] int poll_timeout() const noexcept {
    if (is_never()) return -1;
    constexpr std::chrono::milliseconds::rep kLongest = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(remaining().count(), kLongest));
  }

  /// The earlier of two.
  [[nodiscard]] friend Deadline earlier(Deadline a, Deadline b) noexcept {
    return a.end_ < b.end_ ? a : b;
  }

 private:
  explicit Deadline(Clock::time_point end) noexcept : end_(end) {}

  Clock::time_point end_;
};

}  // namespace ripieno

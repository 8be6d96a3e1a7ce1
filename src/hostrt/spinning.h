// How a thread that waits for peers may use its core: it spins as long as that pays, then offers
// the core to others. Whether spinning pays is learnt per thread from how its last waits ended.
#pragma once

#include <sched.h>

#include <chrono>

namespace ripieno::hostrt {

/// Tells the core that this thread is spinning.
inline void cpu_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// How long it pays this thread to spin. Where every peer has a core of its own they answer within
/// the longest allowance. Where cores are shared, by more ranks or by other programs, spinning only
/// delays the peer that is waited for: then the allowance falls to nothing, and is tried again now
/// and then.
class SpinAllowance {
 public:
  [[nodiscard]] std::chrono::nanoseconds get() noexcept {
    if (current_.count() == 0 && ++refusals_ == kRetryAfter) {
      refusals_ = 0;
      return kMost;
    }
    return current_;
  }
  void paid_off() noexcept { current_ = kMost; }
  void was_in_vain() noexcept {
    current_ = current_ > kLeast ? current_ / 2 : std::chrono::nanoseconds{0};
  }

 private:
  static constexpr std::chrono::nanoseconds kMost{3000};
  static constexpr std::chrono::nanoseconds kLeast{200};
  static constexpr int kRetryAfter = 256;

  std::chrono::nanoseconds current_ = kMost;
  int refusals_ = 0;
};

/// One wait of the calling thread: a pause() after every look that found nothing.
class Spinning {
 public:
  using Clock = std::chrono::steady_clock;

  Spinning() noexcept : spin_end_(Clock::now() + allowance().get()) {}
  Spinning(const Spinning&) = delete;
  Spinning& operator=(const Spinning&) = delete;
  ~Spinning() { yields_ > 0 ? allowance().was_in_vain() : allowance().paid_off(); }

  /// `now` is the caller's clock, read after its last look.
  void pause(Clock::time_point now) noexcept {
    if (now < spin_end_) {
      cpu_pause();
    } else {
      ++yields_;
      sched_yield();
    }
  }
  /// How often the core was offered to others.
  [[nodiscard]] int yields() const noexcept { return yields_; }

 private:
  static SpinAllowance& allowance() noexcept {
    thread_local SpinAllowance allowance;
    return allowance;
  }

  Clock::time_point spin_end_;
  int yields_ = 0;
};

}  // namespace ripieno::hostrt

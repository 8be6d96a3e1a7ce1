// A one-byte lock for critical sections of some ten instructions: one atomic exchange to take, one
// store to give back. A waiter that does not get it soon yields its core, because the holder may
// have been preempted.
#pragma once

#include <sched.h>

#include <atomic>

#include "hostrt/spinning.h"

namespace ripieno::hostrt {

class SpinLock {
 public:
  void lock() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  void wait() noexcept {
    constexpr int kSpins = 64;
    for (int spin = 0; taken_.load(std::memory_order_relaxed); ++spin) {
      if (spin < kSpins) {
        cpu_pause();
      } else {
        sched_yield();
      }
    }
  }

  std::atomic<bool> taken_{false};
};

}  // namespace ripieno::hostrt

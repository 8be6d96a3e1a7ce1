// How a thread waits for peers: it spins for moments, gives up its core to others for a while, and
// then sleeps until its rank's bell rings. With more runnable ranks than cores every spin delays
// the peer it waits for, so the spinning is short; the sleep is the rule for long waits, and costs
// a waker one system call.
#pragma once

#include <chrono>
#include <string>

#include "base/schedule.h"
#include "hostrt/spinning.h"
#include "plan/deadlock_check.h"
#include "plan/sequencer.h"

namespace ripieno::plan {

/// What a plan looks like to the thread that waits for it.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// What it waits for now; nullptr when it waits for its turn.
  [[nodiscard]] virtual const Waiting* waiting() const noexcept = 0;
  /// Whether advancing it now could make progress.
  [[nodiscard]] virtual bool can_advance() noexcept = 0;
  /// "AllReduce #12 (1024 x float32)"
  [[nodiscard]] virtual std::string describe() const = 0;
};

class Patience {
 public:
  Patience(Sequencer& sequencer, Waiter& waiter) noexcept
      : sequencer_(sequencer), waiter_(waiter) {}

  /// Waits a little, more patiently each time. Throws Error when a peer can no longer do its part.
  void pause();

 private:
  void sleep(hostrt::Spinning::Clock::time_point now);
  void report_stall();
  [[nodiscard]] std::string where_others_stand(const Waiting& waiting) const;

  Sequencer& sequencer_;
  Waiter& waiter_;
  hostrt::Spinning spinning_;
  bool reported_ = false;
  DeadlockCheck deadlock_check_;
  const hostrt::Spinning::Clock::time_point begin_ = hostrt::Spinning::Clock::now();
};

}  // namespace ripieno::plan

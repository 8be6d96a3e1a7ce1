// A request to stop, which wakes threads that poll() as well as threads that look at a flag.
#pragma once

#include <atomic>

#include "base/unique_fd.h"

namespace ripieno {

/// One-way: once cancelled it stays so. All members may be called from any thread; cancel() is also
/// safe in a signal handler.
class Cancellation {
 public:
  /// Throws Error (ncclSystemError) when no descriptor is left.
  Cancellation();

  void cancel() noexcept;
  [[nodiscard]] bool cancelled() const noexcept {
    return cancelled_.load(std::memory_order_acquire);
  }
  /// Readable from cancel() on, for poll(); never read from it.
  [[nodiscard]] int fd() const noexcept { return event_.get(); }

 private:
  std::atomic<bool> cancelled_{false};
  UniqueFd event_;
};

}  // namespace ripieno

// The monitor: one quiet thread per process that notices when another process dies. It runs while
// somebody watches something and sleeps in the kernel until something happens.
#pragma once

#include <functional>
#include <memory>

namespace ripieno::observe {

/// Ends the watch when destroyed; when the destructor returns, the callback is not running and
/// never will.
class Watch {
 public:
  virtual ~Watch() = default;
};

/// Calls `on_death` once, from the monitor's thread, when process `process_id` ends. `link`
/// (borrowed; a socket that hangs up with that process) is watched instead where the process is not
/// visible from here (process_id 0). The callback must not block and must not end its own watch.
/// Throws Error (ncclSystemError).
[[nodiscard]] std::unique_ptr<Watch> watch_process(int process_id, int link,
                                                   std::function<void()> on_death);

}  // namespace ripieno::observe

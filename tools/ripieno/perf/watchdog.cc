// The watching thread.
#include "perf/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/process.h"
#include "command.h"

namespace ripieno::tool::perf {

Watchdog::Watchdog(std::chrono::seconds limit) : limit_(limit) {
  if (limit_.count() == 0) return;
  thread_ = start_thread("ripieno-watch", [this](const std::stop_token& stop) { watch(stop); });
}

Watchdog::~Watchdog() {
  thread_.request_stop();
}

void Watchdog::begin(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  deadline_ = std::chrono::steady_clock::now() + limit_;
  changed_.notify_one();
}

void Watchdog::end() {
  const std::lock_guard lock(mutex_);
  deadline_.reset();
}

void Watchdog::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!deadline_) {
      changed_.wait(lock, stop, [&] { return deadline_.has_value(); });
      continue;
    }
    const auto deadline = *deadline_;
    if (changed_.wait_until(lock, stop, deadline, [&] { return deadline_ != deadline; })) continue;
    if (stop.stop_requested()) return;
    fmt::print(stderr, "ripieno perf: {} was not done within {} s (--timeout)\n", what_,
               limit_.count());
    std::fflush(nullptr);
    ::_exit(kExitFailed);
  }
}

}  // namespace ripieno::tool::perf

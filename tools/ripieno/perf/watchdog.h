// --timeout: ends the process with a sentence when a measurement takes too long, whatever its
// threads wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ripieno::tool::perf {

class Watchdog {
 public:
  /// A limit of zero never bites.
  explicit Watchdog(std::chrono::seconds limit);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  /// Starts the time of `what` anew.
  void begin(std::string what);
  void end();

 private:
  void watch(const std::stop_token& stop);

  std::chrono::seconds limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string what_;                                               ///< Guarded by mutex_.
  std::optional<std::chrono::steady_clock::time_point> deadline_;  ///< Guarded by mutex_.
  std::jthread thread_;
};

}  // namespace ripieno::tool::perf

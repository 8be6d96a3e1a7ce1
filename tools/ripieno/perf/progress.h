// A line on the terminal that tells what a long measurement is doing. Silent where stderr is no
// terminal.
#pragma once

#include <chrono>
#include <string_view>

namespace ripieno::tool::perf {

class Progress {
 public:
  explicit Progress(bool wanted);
  /// Replaces the line, once the measurement has lasted long enough to be worth one.
  void show(std::string_view text);
  /// Removes the line, before something else is printed.
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace ripieno::tool::perf

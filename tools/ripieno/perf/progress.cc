// Terminal output of the progress line.
#include "perf/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace ripieno::tool::perf {

Progress::Progress(bool wanted) : enabled_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(std::string_view text) {
  constexpr std::chrono::seconds kPatience{2};
  if (!enabled_ || std::chrono::steady_clock::now() - begin_ < kPatience) return;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace ripieno::tool::perf

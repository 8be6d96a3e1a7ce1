// The counts of the matrix: small ones, and one below, at and one above every size at which the
// library changes its ways.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include "support/check.h"

namespace ripieno::test {

/// RIPIENO_TEST_MATRIX=full or small decides how much of the matrix runs; under sanitizers small is
/// the default.
inline bool full_matrix() {
  const char* const wish = std::getenv("RIPIENO_TEST_MATRIX");
  return wish != nullptr ? std::string_view(wish) == "full" : !kSanitized;
}

/// Counts of a block of `element_bytes`-sized elements, for a rank that brings `blocks` of them,
/// among `ranks`.
inline std::vector<std::size_t> boundary_counts(std::size_t element_bytes, std::size_t blocks,
                                                std::size_t ranks) {
  std::set<std::size_t> counts{0, 1, 2, 3, 7, 8, 15, 16, 17};
  const auto around = [&](std::size_t bytes) {
    const std::size_t count = bytes / element_bytes;
    counts.insert({count > 0 ? count - 1 : 0, count, count + 1});
  };
  // Payloads inside an arrival slot, the one-shot limit (which shrinks with the ranks for
  // reductions), staging pieces.
  constexpr std::size_t kKi = 1024;
  for (const std::size_t bytes : {std::size_t{40}, 32 * kKi, 64 * kKi, 256 * kKi}) {
    around(bytes / blocks);
  }
  around(64 * kKi / ranks);
  if (full_matrix()) {
    around(2 * 256 * kKi / blocks);
    counts.insert({100'003, (3 << 20) / element_bytes / blocks + 5});
  }
  return {counts.begin(), counts.end()};
}

}  // namespace ripieno::test

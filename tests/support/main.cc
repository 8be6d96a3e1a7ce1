// Main function of test executables that run ranks: the launcher must be forked before anything
// else happens.
#include <gtest/gtest.h>

#include <cstdio>

#include "support/board.h"
#include "support/gpu.h"
#include "support/launcher.h"

namespace {

/// What CTest takes for "skipped".
constexpr int kSkipped = 77;

}  // namespace

int main(int argc, char** argv) {
  ripieno::test::map_board();
  ripieno::test::start_launcher();
  if (ripieno::test::kOnGpu && ripieno::test::visible_devices() == 0) {
    std::puts("skipped: there is no GPU");
    ripieno::test::stop_launcher();
    return kSkipped;
  }
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  ripieno::test::stop_launcher();
  return result;
}

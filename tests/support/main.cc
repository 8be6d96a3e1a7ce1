// Main function of test executables that run ranks: the launcher must be forked before anything
// else happens.
#include <gtest/gtest.h>

#include "support/board.h"
#include "support/launcher.h"

int main(int argc, char** argv) {
  ripieno::test::map_board();
  ripieno::test::start_launcher();
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  ripieno::test::stop_launcher();
  return result;
}

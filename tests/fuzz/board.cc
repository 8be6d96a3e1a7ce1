// The flight board of another process.
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/unique_fd.h"
#include "fuzz/input.h"
#include "observe/board_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ripieno;
  static const UniqueFd file(memfd_create("fuzz", MFD_CLOEXEC));
  fuzz::demand(ftruncate(file.get(), 0) == 0);
  fuzz::demand(pwrite(file.get(), data, size, 0) == static_cast<ssize_t>(size));
  try {
    const observe::Board board = observe::read_board(file.get());
    for (const observe::FlightState& rank : board.ranks) {
      fuzz::demand(!observe::describe(rank).empty());
    }
  } catch (const Error& error) {
    fuzz::demand(error.result() == ncclInvalidArgument);
  }
  return 0;
}

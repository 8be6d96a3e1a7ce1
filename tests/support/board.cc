// The shared mapping.
#include "support/board.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/check.h"

namespace ripieno::test {
namespace {

Board* the_board = nullptr;

}  // namespace

Board& board() {
  return *the_board;
}

void map_board() {
  void* const memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("cannot map the board");
    std::abort();
  }
  the_board = new (memory) Board{};
}

void clear_board() {
  new (the_board) Board{};
}

void wait_until(const std::function<bool()>& condition, const char* what,
                std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit * kSlowdown;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) {
      throw std::runtime_error(std::string("waited too long for ") + what);
    }
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
}

}  // namespace ripieno::test

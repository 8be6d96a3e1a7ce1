// A walk through /proc/*/fd.
#include "observe/board_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>

#include "base/error.h"
#include "base/unique_fd.h"

namespace ripieno::observe {
namespace {

namespace fs = std::filesystem;

/// A sane board is far smaller.
constexpr std::uint32_t kMostRanks = 1 << 16;

/// Reads rather than maps: a file may become shorter at any time.
template <typename Thing>
bool read_at(int fd, std::size_t offset, std::span<Thing> things) {
  const std::size_t bytes = things.size_bytes();
  return pread(fd, static_cast<void*>(things.data()), bytes, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Files of boards that a process holds open; nothing where it may not be looked at.
std::vector<fs::path> board_files(const fs::path& process) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(process / "fd", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone).string();
    if (!gone && target.starts_with(fmt::format("/memfd:{}", kBoardFile))) {
      files.push_back(entry->path());
    }
  }
  return files;
}

}  // namespace

Board read_board(int fd) {
  FlightHeader header{};
  const bool is_board = read_at(fd, 0, std::span(&header, 1)) &&
                        header.magic.load() == FlightHeader::kMagic &&
                        header.line_bytes == sizeof(FlightLine) && header.ranks <= kMostRanks;
  std::vector<FlightLine> lines(is_board ? header.ranks : 0);
  if (!is_board || !read_at(fd, FlightHeader::kBytes, std::span(lines))) {
    throw Error(ncclInvalidArgument, "this is no flight board of this version");
  }
  Board board{
      .hash = header.hash,
      .name = std::string(header.name.data(), strnlen(header.name.data(), header.name.size())),
      .begin = header.begin,
      .ranks = {}};
  for (const FlightLine& line : lines) {
    board.ranks.push_back(read(line));
  }
  return board;
}

std::vector<Board> find_boards() {
  std::vector<Board> boards;
  std::set<std::pair<dev_t, ino_t>> seen;
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    if (!is_number(process->path().filename().string())) {
      continue;
    }
    for (const fs::path& file : board_files(process->path())) {
      const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat status {};
      if (!fd || fstat(fd.get(), &status) != 0 ||
          !seen.emplace(status.st_dev, status.st_ino).second) {
        continue;
      }
      try {
        boards.push_back(read_board(fd.get()));
      } catch (const Error&) {
        // Being made, or of another version.
        continue;
      }
    }
  }
  std::ranges::stable_sort(boards, {}, &Board::begin);
  return boards;
}

}  // namespace ripieno::observe

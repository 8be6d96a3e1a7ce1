// Gather at process 0, then hand the whole to everybody.
#include "perf/team.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace ripieno::tool::perf {

Team::Team(int process, int processes, std::vector<UniqueFd> sockets)
    : process_(process), processes_(processes), sockets_(std::move(sockets)) {}

std::vector<std::byte> Team::all_gather(std::span<const std::byte> mine) {
  std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(processes_));
  const auto part = [&](std::size_t process) {
    return std::span(all).subspan(process * mine.size(), mine.size());
  };
  std::ranges::copy(mine, part(static_cast<std::size_t>(process_)).begin());
  if (process_ != 0) {
    send(0, mine);
    receive(0, all);
    return all;
  }
  for (std::size_t index = 0; index < sockets_.size(); ++index) receive(index, part(index + 1));
  for (std::size_t index = 0; index < sockets_.size(); ++index) send(index, all);
  return all;
}

int Team::other(std::size_t index) const noexcept {
  return process_ == 0 ? static_cast<int>(index) + 1 : 0;
}

void Team::send(std::size_t index, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(sockets_[index].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      throw LostProcess(fmt::format("process {} lost process {}: {}", process_, other(index),
                                    std::strerror(errno)));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void Team::receive(std::size_t index, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(sockets_[index].get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw LostProcess(fmt::format("process {} lost process {}: {}", process_, other(index),
                                    got == 0 ? "it has ended" : std::strerror(errno)));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::vector<UniqueFd>> make_star(int processes) {
  std::vector<std::vector<UniqueFd>> ends(static_cast<std::size_t>(processes));
  for (std::size_t process = 1; process < ends.size(); ++process) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      throw Error::system("making a pair of sockets for the processes to talk", errno);
    }
    ends[0].emplace_back(pair[0]);
    ends[process].emplace_back(pair[1]);
  }
  return ends;
}

}  // namespace ripieno::tool::perf

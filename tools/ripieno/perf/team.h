// Control between the processes of a measurement: a star of sockets around process 0. It carries
// the unique id, the reports of each measurement and, by hanging up, the news that a process has
// ended. Data never travels here.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace ripieno::tool::perf {

/// Another process of the measurement is gone.
class LostProcess : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Team {
 public:
  /// A team of one.
  Team() = default;
  /// Process 0 has a socket to every other process, in their order; the others have one, to process
  /// 0.
  Team(int process, int processes, std::vector<UniqueFd> sockets);

  [[nodiscard]] int process() const noexcept { return process_; }
  [[nodiscard]] int processes() const noexcept { return processes_; }

  /// Everybody's bytes, in the order of processes, in every process. All must contribute equally
  /// many. Throws LostProcess.
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine);

 private:
  /// The process at the other end of sockets_[index].
  [[nodiscard]] int other(std::size_t index) const noexcept;
  void send(std::size_t index, std::span<const std::byte> bytes);
  void receive(std::size_t index, std::span<std::byte> bytes);

  int process_ = 0;
  int processes_ = 1;
  std::vector<UniqueFd> sockets_;
};

/// Sockets for `processes` processes of one parent: element p is what process p gives to its Team.
[[nodiscard]] std::vector<std::vector<UniqueFd>> make_star(int processes);

}  // namespace ripieno::tool::perf

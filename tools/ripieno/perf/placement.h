// Which process of how many this is: alone, one of those that --procs forks, or one of those that a
// launcher started.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ripieno::tool::perf {

/// Processes that make one measurement together.
struct Placement {
  int process = 0;
  int processes = 1;
  int local_process = 0;       ///< Among those of this host; chooses the devices.
  bool one_host = true;        ///< All processes are on this host, as far as the launcher tells.
  std::string launcher;        ///< "mpirun", "srun", "torchrun"; empty without one.
  std::string job;             ///< Equal in all processes of the job and no other of this host.
  std::string master_address;  ///< MASTER_ADDR, where given.
  int master_port = 0;
};

/// Looks a variable of the environment up; nullptr where it is not set.
using Environment = std::function<const char*(const char*)>;

/// What the environment says: Open MPI, then PMI (MPICH, Intel MPI), Slurm steps, torchrun. Throws
/// UsageError where the variables contradict each other.
[[nodiscard]] Placement placement_from(const Environment& environment);

}  // namespace ripieno::tool::perf

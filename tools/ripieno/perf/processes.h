// --procs: forks the processes of a measurement before any thread or device exists, and stands
// watch over them.
#pragma once

#include <functional>

#include "perf/team.h"

namespace ripieno::tool::perf {

/// Runs `body` in `processes` children and returns the exit code of the whole: 0 if all ended with
/// 0. A child that dies is named on stderr; the others then get some seconds to notice by
/// themselves before they are killed. SIGINT, SIGTERM and SIGHUP go to all children. A child never
/// outlives this process. `body` must not throw.
[[nodiscard]] int run_processes(int processes, int ranks_each,
                                const std::function<int(Team)>& body);

}  // namespace ripieno::tool::perf

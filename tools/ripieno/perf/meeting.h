// How processes that a launcher started find each other: process 0 listens, the others connect. On
// one host the place is an abstract Unix socket named after the job, which leaves nothing behind;
// otherwise MASTER_ADDR and the port after MASTER_PORT.
#pragma once

#include <chrono>

#include "perf/placement.h"
#include "perf/team.h"

namespace ripieno::tool::perf {

/// Waits for all processes of `placement`, at most `patience`. Throws UsageError where the
/// environment names no place to meet, LostProcess naming those that did not come.
[[nodiscard]] Team meet(const Placement& placement, std::chrono::seconds patience);

}  // namespace ripieno::tool::perf

// What NCCL_CHECK_MODE adds to the checks of every call: buffers of one rank that lie across each
// other. A program with that fault often gets right results by luck of timing.
#pragma once

#include "coll/operation.h"

namespace ripieno::api {

/// Under NCCL_CHECK_MODE=DEBUG_LOCAL or DEBUG_GLOBAL, refuses a collective whose send and receive
/// buffer overlap other than in place. Throws Error (ncclInvalidUsage) that says where in place is.
void check_overlap(const coll::Operation& operation, int rank, int ranks);

}  // namespace ripieno::api

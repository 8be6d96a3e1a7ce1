// Which algorithm runs an operation. Every rank must choose alike, so a choice depends on nothing
// but the operation, the number of ranks and parameters that all ranks share.
#pragma once

#include "coll/operation.h"
#include "tune/algorithm.h"

namespace ripieno::tune {

class Tuner;

/// kOneShot or kDirect. A tuner that has something to say (a plugin, a measured table, NCCL_ALGO)
/// decides; without one, measured thresholds do.
[[nodiscard]] Algorithm choose(const coll::Operation& operation, int ranks,
                               const Tuner* tuner = nullptr);

/// Whether the submitting thread may run the operation itself when its stream is idle: small enough
/// that the call stays short, larger ones overlap with the caller's work.
[[nodiscard]] bool may_run_inline(const coll::Operation& operation, int ranks) noexcept;

}  // namespace ripieno::tune

// Which algorithm runs an operation. Every rank must choose alike, so a choice depends on nothing
// but the operation, the number of ranks and parameters that all ranks share.
#pragma once

#include "coll/operation.h"

namespace ripieno::tune {

enum class Algorithm { kOneShot, kDirect };

[[nodiscard]] Algorithm choose(const coll::Operation& operation, int ranks) noexcept;

/// Whether the submitting thread may run the operation itself when its stream is idle: small enough
/// that the call stays short, larger ones overlap with the caller's work.
[[nodiscard]] bool may_run_inline(const coll::Operation& operation, int ranks) noexcept;

}  // namespace ripieno::tune

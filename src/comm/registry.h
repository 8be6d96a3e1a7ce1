// Handles of live communicators. A handle is only ever looked up, never followed: a destroyed or
// invented one is answered with a sentence instead of a crash.
#pragma once

#include <nccl.h>

#include <memory>

#include "comm/communicator.h"

namespace ripieno::comm {

/// Makes `communicator` known and returns its handle. The registry keeps it alive until remove().
[[nodiscard]] ncclComm_t add_handle(std::shared_ptr<Communicator> communicator);

/// Throws Error (ncclInvalidArgument) for NULL and for handles that are not live.
[[nodiscard]] std::shared_ptr<Communicator> find_handle(ncclComm_t handle);

/// Takes the communicator out; later look-ups of the handle fail. Throws like find_handle().
[[nodiscard]] std::shared_ptr<Communicator> remove_handle(ncclComm_t handle);

}  // namespace ripieno::comm

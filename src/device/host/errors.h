// Failures of the host runtime, as this library reports them: one code, and a sentence that names
// the call.
#pragma once

#include <cuda_runtime.h>

#include <string_view>
#include <utility>

#include "base/error.h"
#include "hostrt/runtime.h"

namespace ripieno::device::host {

/// Throws Error(ncclUnhandledCudaError) unless `code` is cudaSuccess; `what` reads as "creating a
/// stream".
void check(cudaError_t code, std::string_view what);

/// Runs `body` and throws what the runtime throws as Error(ncclUnhandledCudaError).
template <typename Body>
decltype(auto) guarded(std::string_view what, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const hostrt::RuntimeError& failure) {
    throw Error(ncclUnhandledCudaError, "{}: {}", what, failure.what());
  }
}

}  // namespace ripieno::device::host

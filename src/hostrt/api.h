// The border of the C interface: what every function of cuda_api_*.cc runs in. Exceptions become
// codes here, and errors are kept as the thread's last error.
#pragma once

#include <cuda_runtime_api.h>

#include <new>
#include <type_traits>

#include "hostrt/device.h"
#include "hostrt/process.h"
#include "hostrt/runtime.h"

namespace ripieno::hostrt {

[[noreturn]] inline void fail(cudaError_t code, const char* sentence) {
  throw RuntimeError(code, sentence);
}

/// Throws RuntimeError(cudaErrorInvalidValue) unless `condition` holds.
inline void require(bool condition, const char* sentence) {
  if (!condition) [[unlikely]]
    fail(cudaErrorInvalidValue, sentence);
}

/// Runs `body`, which returns nothing or a code.
template <class Body>
cudaError_t call(Body&& body) noexcept {
  ThreadState& thread = thread_state();
  cudaError_t code = cudaSuccess;
  try {
    check_process();
    if (thread.in_host_function)
      fail(cudaErrorNotPermitted, "a host function must not call the runtime");
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
    } else {
      code = body();
    }
  } catch (const RuntimeError& error) {
    code = error.code();
  } catch (const std::bad_alloc&) {
    code = cudaErrorMemoryAllocation;
  } catch (...) {
    code = cudaErrorUnknown;
  }
  // "Not ready" is an answer, not an error.
  if (code != cudaSuccess && code != cudaErrorNotReady) thread.last_error = code;
  return code;
}

}  // namespace ripieno::hostrt

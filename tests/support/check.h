// Results of calls in tests: check() stops the body at the first call that fails, expect_refused()
// wants a failure and looks at its sentence.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <initializer_list>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ripieno::test {

/// Ends a body whose failure has been reported already.
struct BodyStopped : std::runtime_error {
  BodyStopped() : std::runtime_error("stopped after a failure") {}
};

inline void check(ncclResult_t result,
                  std::source_location where = std::source_location::current()) {
  if (result != ncclSuccess) {
    ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
        << "result " << result << " (" << ncclGetErrorString(result)
        << "): " << ncclGetLastError(nullptr);
    throw BodyStopped();
  }
}

inline void check(cudaError_t error, std::source_location where = std::source_location::current()) {
  if (error != cudaSuccess) {
    ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
        << "device runtime: " << cudaGetErrorString(error);
    throw BodyStopped();
  }
}

/// `result` must be `wanted`, and the last error's sentence must contain all `parts`.
inline void expect_refused(ncclResult_t result, ncclResult_t wanted,
                           std::initializer_list<std::string_view> parts,
                           std::source_location where = std::source_location::current()) {
  const std::string sentence = ncclGetLastError(nullptr);
  if (result != wanted) {
    ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
        << "result " << result << " instead of " << wanted << "; last error: " << sentence;
    return;
  }
  for (const std::string_view part : parts) {
    if (sentence.find(part) == std::string::npos) {
      ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
          << "the sentence lacks '" << part << "': " << sentence;
    }
  }
}

/// Sanitizers slow everything down: waits are longer under them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSlowdown = 5;
inline constexpr bool kSanitized = true;
#else
inline constexpr int kSlowdown = 1;
inline constexpr bool kSanitized = false;
#endif

}  // namespace ripieno::test

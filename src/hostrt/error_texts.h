// Names and short texts of the CUDA runtime's error codes.
#pragma once

#include <cuda_runtime_api.h>

namespace ripieno::hostrt {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* sentence;
};

/// Null for a number that is no error code.
const ErrorText* find_error_text(cudaError_t code) noexcept;

}  // namespace ripieno::hostrt

// The CUDA runtime's functions as C++ functions of this library. They have a namespace because a
// process may also hold NVIDIA's own libcudart, whose C names must not be taken twice; programs
// that want the C names link to lib/ripieno/host/libcudart.so.13, which forwards here.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "hostrt/runtime.h"

namespace ripieno::hostrt::cuda {

#define RIPIENO_FUNCTION(result, name, parameters, arguments) \
  RIPIENO_HOSTRT_API result name parameters;
#include "hostrt/functions.inc"
#undef RIPIENO_FUNCTION

/// What a function of the CUDA runtime that the host runtime lacks answers: cudaErrorNotSupported,
/// kept as last error.
RIPIENO_HOSTRT_API cudaError_t refuse_function() noexcept;

}  // namespace ripieno::hostrt::cuda

// libcudart.so.13 for machines without a GPU: the CUDA runtime's functions under their C names,
// each one a jump into the host runtime. Together with per_thread.cc, registration.cc and the
// generated unsupported.cc it has every name of CUDA 13's library.
#include "hostrt/cuda_functions.h"

#define RIPIENO_EXPORT extern "C" __attribute__((visibility("default")))

#define RIPIENO_FUNCTION(result, name, parameters, arguments) \
  RIPIENO_EXPORT result name parameters {                     \
    return ripieno::hostrt::cuda::name arguments;             \
  }
#include "hostrt/functions.inc"

/// How the collective library recognises that a program's CUDA runtime is this one.
extern "C" __attribute__((visibility("default"))) const char ripieno_host_cudart_present =
    1;  // NOLINT(readability-identifier-naming): a linker's name

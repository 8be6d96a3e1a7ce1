// Whether a test is built for GPUs: the same sources then see NVIDIA's runtime instead of ours.
#pragma once

#include <cuda_runtime.h>

namespace ripieno::test {

#ifdef RIPIENO_TEST_GPU
inline constexpr bool kOnGpu = true;
#else
inline constexpr bool kOnGpu = false;
#endif

/// Devices that a process may use.
inline int visible_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

}  // namespace ripieno::test

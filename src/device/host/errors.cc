// How a code of the host runtime becomes a sentence.
#include "device/host/errors.h"

#include "hostrt/cuda_functions.h"

namespace ripieno::device::host {

void check(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) return;
  throw Error(ncclUnhandledCudaError, "{} failed: {} ({})", what,
              hostrt::cuda::cudaGetErrorString(code), hostrt::cuda::cudaGetErrorName(code));
}

}  // namespace ripieno::device::host

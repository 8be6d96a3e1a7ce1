// Sentences for codes, and the current device.
#include "device/cuda/errors.h"

#include "base/error.h"
#include "device/cuda/driver.h"

namespace ripieno::device::cuda {

void check(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // Not to be met again by the application's next check.
  throw Error(ncclUnhandledCudaError, "{} failed: {} ({})", what, cudaGetErrorString(code),
              cudaGetErrorName(code));
}

void check(CUresult code, std::string_view what) {
  if (code == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver().error_text(code, &text);
  throw Error(ncclUnhandledCudaError, "{} failed: {} (CUresult {})", what,
              text != nullptr ? text : "unknown error", static_cast<int>(code));
}

CurrentDevice::CurrentDevice(int ordinal) {
  check(cudaGetDevice(&former_), "asking for the current device");
  if (former_ != ordinal) {
    check(cudaSetDevice(ordinal), "selecting a device");
    changed_ = true;
  }
}

CurrentDevice::~CurrentDevice() {
  if (changed_) cudaSetDevice(former_);
}

}  // namespace ripieno::device::cuda

// Versions, the last error, and the names and texts of error codes.
#include <array>
#include <utility>

#include "hostrt/cuda_functions.h"
#include "hostrt/device.h"
#include "hostrt/error_texts.h"

namespace ripieno::hostrt::cuda {

cudaError_t cudaDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return cudaErrorInvalidValue;
  *driverVersion = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  return cudaDriverGetVersion(runtimeVersion);
}

cudaError_t cudaGetLastError() {
  return std::exchange(thread_state().last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return thread_state().last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* text = find_error_text(error);
  return text != nullptr ? text->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* text = find_error_text(error);
  return text != nullptr ? text->sentence : "unrecognized error code";
}

cudaError_t refuse_function() noexcept {
  return thread_state().last_error = cudaErrorNotSupported;
}

cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}

}  // namespace ripieno::hostrt::cuda

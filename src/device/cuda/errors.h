// How codes of the CUDA runtime and driver become sentences.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <string_view>

namespace ripieno::device::cuda {

/// Throws Error (ncclUnhandledCudaError) unless `code` is success: "<what> failed: <text>
/// (<name>)".
void check(cudaError_t code, std::string_view what);
void check(CUresult code, std::string_view what);

/// Makes a device the calling thread's current one, and the former one again at the end of the
/// scope.
class CurrentDevice {
 public:
  explicit CurrentDevice(int ordinal);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int former_ = 0;
  bool changed_ = false;
};

/// Lets the calling thread do what has nothing to do with the streams that it captures, like
/// creating an event.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace ripieno::device::cuda

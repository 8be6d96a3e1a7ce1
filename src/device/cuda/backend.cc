// The GPUs of this process. Operations do not come as tasks: a GPU executes by itself, and the plan
// room launches what it executes.
#include "device/cuda/backend.h"

#include <deque>

#include "base/error.h"
#include "device/cuda/device.h"
#include "device/cuda/driver.h"
#include "device/cuda/errors.h"
#include "device/host/peer_memory.h"

namespace ripieno::device::cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int devices) {
    for (int ordinal = 0; ordinal < devices; ++ordinal) devices_.emplace_back(ordinal);
  }

  [[nodiscard]] std::string name() const override { return "cuda"; }
  [[nodiscard]] int device_count() const override { return static_cast<int>(devices_.size()); }

  [[nodiscard]] int current_device() const override {
    int ordinal = 0;
    check(cudaGetDevice(&ordinal), "asking for the current device");
    return ordinal;
  }

  void set_current_device(int ordinal) override {
    check(cudaSetDevice(ordinal), "selecting a device");
  }

  [[nodiscard]] Device& device(int ordinal) override {
    if (ordinal < 0 || ordinal >= device_count()) {
      throw Error(ncclUnhandledCudaError, "device {} does not exist: there are devices 0 to {}",
                  ordinal, device_count() - 1);
    }
    return devices_[static_cast<std::size_t>(ordinal)];
  }

  /// Memory of a GPU is shared by handles, allocation by allocation: see memory.h.
  [[nodiscard]] std::optional<std::uint64_t> share_offset(const void*) const noexcept override {
    return std::nullopt;
  }
  /// The host side of this process, through which peers notice when it ends.
  [[nodiscard]] MemoryTicket memory_ticket() override { return {hostrt::arena_ticket()}; }
  [[nodiscard]] std::shared_ptr<PeerMemory> import_memory(
      const MemoryTicket& ticket, std::chrono::milliseconds timeout) override {
    return host::import_arena(ticket, timeout);
  }

  void submit(std::span<Submission>) override {
    throw Error(ncclInternalError, "a task was submitted to a GPU, which runs none");
  }

  [[nodiscard]] bool is_capturing(cudaStream_t stream) override {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "asking a stream whether it is captured");
    return status != cudaStreamCaptureStatusNone;
  }

 private:
  std::deque<CudaDevice> devices_;
};

int count_devices() noexcept {
  int count = 0;
  if (!has_driver() || cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

}  // namespace

bool is_available() noexcept {
  return count_devices() > 0;
}

std::unique_ptr<Backend> make_backend() {
  const int devices = count_devices();
  if (devices == 0) {
    throw Error(ncclUnhandledCudaError,
                "RIPIENO_DEVICE=cuda, but this process sees no usable NVIDIA GPU: check nvidia-smi "
                "and CUDA_VISIBLE_DEVICES, or use host");
  }
  return std::make_unique<CudaBackend>(devices);
}

}  // namespace ripieno::device::cuda

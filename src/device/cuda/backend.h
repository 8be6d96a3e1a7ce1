// The CUDA side of the device seam.
#pragma once

#include <memory>

#include "device/device.h"

namespace ripieno::device::cuda {

/// Whether this process can use an NVIDIA GPU: a driver, and at least one device.
[[nodiscard]] bool is_available() noexcept;

/// Throws Error (ncclUnhandledCudaError) when the driver has no device.
[[nodiscard]] std::unique_ptr<Backend> make_backend();

}  // namespace ripieno::device::cuda

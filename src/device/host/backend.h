// The backend of machines without a GPU: virtual devices of the host runtime, whose memory is one
// arena a process.
#pragma once

#include <memory>

#include "device/device.h"

namespace ripieno::device::host {

[[nodiscard]] std::unique_ptr<Backend> make_backend();

}  // namespace ripieno::device::host

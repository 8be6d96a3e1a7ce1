// What a virtual device says of itself. It claims compute capability 9.0, the oldest that has every
// feature programs probe for (memory pools, clusters); limits without a meaning on a host carry
// that generation's usual values, so that programs which compute launch shapes from them do not
// divide by zero.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

namespace ripieno::hostrt {

inline constexpr int kComputeMajor = 9;
inline constexpr int kComputeMinor = 0;

cudaDeviceProp describe_device(int ordinal);

/// "7269:01:00.0": a PCI domain no machine uses, one bus number for each device.
std::string bus_id_of(int ordinal);

/// Nothing for a number that is no attribute.
std::optional<int> device_attribute(cudaDeviceAttr attribute, int ordinal);

}  // namespace ripieno::hostrt

// Devices: choosing one, asking about it, peers, limits.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "hostrt/api.h"
#include "hostrt/capture.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/device_properties.h"

namespace ripieno::hostrt::cuda {
namespace {

/// Limits are kept as they are set; nothing here runs out of them.
std::array<std::atomic<std::size_t>, 7> g_limits{1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
std::atomic<cudaFuncCache> g_cache_config{cudaFuncCachePreferNone};

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return call([&] {
    require(count != nullptr, "no place for the count");
    *count = device_count();
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call([&] {
    require(device != nullptr, "no place for the device");
    current_virtual_device();
    *device = current_device();
  });
}

cudaError_t cudaSetDevice(int device) {
  return call([&] { set_current_device(device); });
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
  return call([&] {
    VirtualDevice& chosen = hostrt::device(device);
    if ((flags & cudaInitDeviceFlagsAreValid) != 0) chosen.flags.store(deviceFlags);
  });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return call([&] {
    require(count >= 0 && (count == 0 || devices != nullptr), "no list of devices");
    for (int index = 0; index < count; ++index) hostrt::device(devices[index]);
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties) {
  return call([&] {
    require(device != nullptr && properties != nullptr,
            "no properties, or no place for the device");
    current_virtual_device();
    *device = 0;  // all are alike
  });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return call([&] {
    require(flags != nullptr, "no place for the flags");
    *flags = current_virtual_device().flags.load() | cudaDeviceMapHost;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return call([&] {
    require((flags & ~static_cast<unsigned>(cudaDeviceMask)) == 0, "unknown device flags");
    current_virtual_device().flags.store(flags);
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call([&] {
    require(properties != nullptr, "no place for the properties");
    hostrt::device(device);
    *properties = describe_device(device);
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call([&] {
    require(value != nullptr, "no place for the value");
    hostrt::device(device);
    const auto found = device_attribute(attribute, device);
    require(found.has_value(), "no such attribute");
    *value = *found;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int length, int device) {
  return call([&] {
    hostrt::device(device);
    const std::string text = bus_id_of(device);
    require(pciBusId != nullptr && length > static_cast<int>(text.size()),
            "no room for the bus id");
    std::memcpy(pciBusId, text.c_str(), text.size() + 1);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
  return call([&] {
    require(device != nullptr && pciBusId != nullptr, "no bus id, or no place for the device");
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    if (std::sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) == 3) {
      std::array<char, 32> plain{};
      std::snprintf(plain.data(), plain.size(), "%04x:%02x:%02x.0", domain, bus, slot);
      for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
        if (bus_id_of(ordinal) != plain.data()) continue;
        *device = ordinal;
        return cudaSuccess;
      }
    }
    return cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call([] {
    VirtualDevice& device = current_virtual_device();
    refuse_while_device_captured(device);
    device.synchronize();
  });
}

/// Waits for all work and forgets enabled peers. Memory and handles stay: other libraries of the
/// process may hold some.
cudaError_t cudaDeviceReset() {
  return call([] {
    VirtualDevice& device = current_virtual_device();
    refuse_while_device_captured(device);
    device.synchronize();
    device.disable_all_peers();
    device.flags.store(0);
    thread_state().last_error = cudaSuccess;
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return call([&] {
    if (static_cast<std::size_t>(limit) >= g_limits.size())
      fail(cudaErrorUnsupportedLimit, "no such limit");
    g_limits[static_cast<std::size_t>(limit)].store(value);
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return call([&] {
    require(value != nullptr, "no place for the limit");
    if (static_cast<std::size_t>(limit) >= g_limits.size())
      fail(cudaErrorUnsupportedLimit, "no such limit");
    *value = g_limits[static_cast<std::size_t>(limit)].load();
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return call([&] {
    require(config != nullptr, "no place for the configuration");
    *config = g_cache_config.load();
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return call([&] { g_cache_config.store(config); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return call([&] {
    current_virtual_device();
    if (leastPriority != nullptr) *leastPriority = 0;
    if (greatestPriority != nullptr) *greatestPriority = -5;
  });
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget /*target*/,
                                               cudaFlushGPUDirectRDMAWritesScope /*scope*/) {
  return call([] { current_virtual_device(); });  // host memory needs no flush
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccess, int device, int peerDevice) {
  return call([&] {
    require(canAccess != nullptr, "no place for the answer");
    hostrt::device(device);
    hostrt::device(peerDevice);
    *canAccess = device != peerDevice ? 1 : 0;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  return call([&] {
    require(flags == 0, "flags must be 0");
    hostrt::device(peerDevice);
    if (peerDevice == current_device())
      fail(cudaErrorInvalidDevice, "a device is not its own peer");
    if (!current_virtual_device().enable_peer(peerDevice)) {
      fail(cudaErrorPeerAccessAlreadyEnabled, "access to this peer is enabled already");
    }
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
  return call([&] {
    hostrt::device(peerDevice);
    if (!current_virtual_device().disable_peer(peerDevice)) {
      fail(cudaErrorPeerAccessNotEnabled, "access to this peer is not enabled");
    }
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int srcDevice,
                                      int dstDevice) {
  return call([&] {
    require(value != nullptr, "no place for the value");
    hostrt::device(srcDevice);
    hostrt::device(dstDevice);
    if (srcDevice == dstDevice) fail(cudaErrorInvalidDevice, "a device is not its own peer");
    switch (attribute) {
      case cudaDevP2PAttrPerformanceRank:
      case cudaDevP2PAttrCudaArrayAccessSupported:
      case cudaDevP2PAttrOnlyPartialNativeAtomicSupported:
        *value = 0;
        break;
      case cudaDevP2PAttrAccessSupported:
      case cudaDevP2PAttrNativeAtomicSupported:
        *value = 1;
        break;
      default:
        fail(cudaErrorInvalidValue, "no such attribute");
    }
  });
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                    unsigned long long /*flags*/,
                                    cudaDriverEntryPointQueryResult* result) {
  return call([&] {
    require(symbol != nullptr && function != nullptr, "no symbol, or no place for the function");
    *function = nullptr;  // there is no driver behind a host device
    if (result == nullptr) return cudaErrorSymbolNotFound;
    *result = cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned int /*cudaVersion*/, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result) {
  return cuda::cudaGetDriverEntryPoint(symbol, function, flags, result);
}

}  // namespace ripieno::hostrt::cuda

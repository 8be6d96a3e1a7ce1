// Properties and attributes; see device_properties.h.
#include "hostrt/device_properties.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "hostrt/arena.h"

namespace ripieno::hostrt {
namespace {

constexpr int kDomain = 0x7269;
constexpr int kNanosecondClockKilohertz = 1'000'000;
constexpr int kSharedMemory = 48 * 1024;
constexpr int kSharedMemoryMost = 227 * 1024;

int hardware_threads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int last_level_cache() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<int>(std::min<long>(bytes, 1L << 30)) : 0;
}

/// Stable while the machine is up, different on every machine: the kernel's boot id with the
/// ordinal mixed in.
void fill_uuid(cudaUUID_t& uuid, int ordinal) {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  std::erase(text, '-');
  for (std::size_t index = 0; index < sizeof uuid.bytes; ++index) {
    const std::string digits = text.size() >= 2 * index + 2 ? text.substr(2 * index, 2) : "0";
    uuid.bytes[index] = static_cast<char>(std::strtoul(digits.c_str(), nullptr, 16));
  }
  uuid.bytes[15] = static_cast<char>(uuid.bytes[15] ^ (ordinal + 1));
}

struct FixedAttribute {
  cudaDeviceAttr attribute;
  int value;
};

/// Attributes that are the same for all devices and have no field in the properties.
constexpr FixedAttribute kFixed[] = {
    {cudaDevAttrClockRate, kNanosecondClockKilohertz},
    {cudaDevAttrMemoryClockRate, kNanosecondClockKilohertz},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrKernelExecTimeout, 0},
    {cudaDevAttrComputeMode, cudaComputeModeDefault},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
    {cudaDevAttrCanFlushRemoteWrites, 1},
    {cudaDevAttrMemSyncDomainCount, 1},
};

struct FieldAttribute {
  cudaDeviceAttr attribute;
  int cudaDeviceProp::*field;
};

constexpr FieldAttribute kFields[] = {
    {cudaDevAttrMaxThreadsPerBlock, &cudaDeviceProp::maxThreadsPerBlock},
    {cudaDevAttrWarpSize, &cudaDeviceProp::warpSize},
    {cudaDevAttrMaxRegistersPerBlock, &cudaDeviceProp::regsPerBlock},
    {cudaDevAttrMultiProcessorCount, &cudaDeviceProp::multiProcessorCount},
    {cudaDevAttrIntegrated, &cudaDeviceProp::integrated},
    {cudaDevAttrCanMapHostMemory, &cudaDeviceProp::canMapHostMemory},
    {cudaDevAttrConcurrentKernels, &cudaDeviceProp::concurrentKernels},
    {cudaDevAttrEccEnabled, &cudaDeviceProp::ECCEnabled},
    {cudaDevAttrPciBusId, &cudaDeviceProp::pciBusID},
    {cudaDevAttrPciDeviceId, &cudaDeviceProp::pciDeviceID},
    {cudaDevAttrPciDomainId, &cudaDeviceProp::pciDomainID},
    {cudaDevAttrTccDriver, &cudaDeviceProp::tccDriver},
    {cudaDevAttrGlobalMemoryBusWidth, &cudaDeviceProp::memoryBusWidth},
    {cudaDevAttrL2CacheSize, &cudaDeviceProp::l2CacheSize},
    {cudaDevAttrMaxThreadsPerMultiProcessor, &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {cudaDevAttrAsyncEngineCount, &cudaDeviceProp::asyncEngineCount},
    {cudaDevAttrUnifiedAddressing, &cudaDeviceProp::unifiedAddressing},
    {cudaDevAttrComputeCapabilityMajor, &cudaDeviceProp::major},
    {cudaDevAttrComputeCapabilityMinor, &cudaDeviceProp::minor},
    {cudaDevAttrStreamPrioritiesSupported, &cudaDeviceProp::streamPrioritiesSupported},
    {cudaDevAttrGlobalL1CacheSupported, &cudaDeviceProp::globalL1CacheSupported},
    {cudaDevAttrLocalL1CacheSupported, &cudaDeviceProp::localL1CacheSupported},
    {cudaDevAttrMaxRegistersPerMultiprocessor, &cudaDeviceProp::regsPerMultiprocessor},
    {cudaDevAttrManagedMemory, &cudaDeviceProp::managedMemory},
    {cudaDevAttrIsMultiGpuBoard, &cudaDeviceProp::isMultiGpuBoard},
    {cudaDevAttrMultiGpuBoardGroupID, &cudaDeviceProp::multiGpuBoardGroupID},
    {cudaDevAttrHostNativeAtomicSupported, &cudaDeviceProp::hostNativeAtomicSupported},
    {cudaDevAttrPageableMemoryAccess, &cudaDeviceProp::pageableMemoryAccess},
    {cudaDevAttrConcurrentManagedAccess, &cudaDeviceProp::concurrentManagedAccess},
    {cudaDevAttrComputePreemptionSupported, &cudaDeviceProp::computePreemptionSupported},
    {cudaDevAttrCanUseHostPointerForRegisteredMem,
     &cudaDeviceProp::canUseHostPointerForRegisteredMem},
    {cudaDevAttrCooperativeLaunch, &cudaDeviceProp::cooperativeLaunch},
    {cudaDevAttrHostRegisterSupported, &cudaDeviceProp::hostRegisterSupported},
    {cudaDevAttrPageableMemoryAccessUsesHostPageTables,
     &cudaDeviceProp::pageableMemoryAccessUsesHostPageTables},
    {cudaDevAttrDirectManagedMemAccessFromHost, &cudaDeviceProp::directManagedMemAccessFromHost},
    {cudaDevAttrMaxBlocksPerMultiprocessor, &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {cudaDevAttrHostRegisterReadOnlySupported, &cudaDeviceProp::hostRegisterReadOnlySupported},
    {cudaDevAttrMemoryPoolsSupported, &cudaDeviceProp::memoryPoolsSupported},
    {cudaDevAttrGPUDirectRDMASupported, &cudaDeviceProp::gpuDirectRDMASupported},
    {cudaDevAttrGPUDirectRDMAWritesOrdering, &cudaDeviceProp::gpuDirectRDMAWritesOrdering},
    {cudaDevAttrIpcEventSupport, &cudaDeviceProp::ipcEventSupported},
    {cudaDevAttrNumaConfig, &cudaDeviceProp::deviceNumaConfig},
    {cudaDevAttrNumaId, &cudaDeviceProp::deviceNumaId},
    {cudaDevAttrHostNumaId, &cudaDeviceProp::hostNumaId},
};

std::optional<int> computed_attribute(cudaDeviceAttr attribute, const cudaDeviceProp& properties) {
  switch (attribute) {
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ:
      return properties.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX];
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return properties.maxGridSize[attribute - cudaDevAttrMaxGridDimX];
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(properties.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(properties.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(properties.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return static_cast<int>(properties.reservedSharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return static_cast<int>(properties.totalConstMem);
    case cudaDevAttrMaxPitch:
      return static_cast<int>(properties.memPitch);
    case cudaDevAttrTextureAlignment:
      return static_cast<int>(properties.textureAlignment);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string bus_id_of(int ordinal) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:00.0", kDomain, ordinal);
  return text.data();
}

cudaDeviceProp describe_device(int ordinal) {
  cudaDeviceProp is{};
  std::snprintf(is.name, sizeof is.name, "Ripieno host device %d", ordinal);
  fill_uuid(is.uuid, ordinal);
  is.totalGlobalMem = Arena::total_bytes();
  is.sharedMemPerBlock = kSharedMemory;
  is.sharedMemPerBlockOptin = kSharedMemoryMost;
  is.sharedMemPerMultiprocessor = kSharedMemoryMost + 1024;
  is.reservedSharedMemPerBlock = 1024;
  is.regsPerBlock = is.regsPerMultiprocessor = 64 * 1024;
  is.warpSize = 32;
  is.memPitch = 0x7fffffff;
  is.maxThreadsPerBlock = 1024;
  is.maxThreadsDim[0] = is.maxThreadsDim[1] = 1024;
  is.maxThreadsDim[2] = 64;
  is.maxGridSize[0] = 0x7fffffff;
  is.maxGridSize[1] = is.maxGridSize[2] = 65535;
  is.totalConstMem = 64 * 1024;
  is.major = kComputeMajor;
  is.minor = kComputeMinor;
  is.textureAlignment = 512;
  is.texturePitchAlignment = 32;
  is.multiProcessorCount = hardware_threads();
  is.integrated = 1;
  is.canMapHostMemory = 1;
  is.concurrentKernels = 1;
  is.pciBusID = ordinal;
  is.pciDomainID = kDomain;
  is.asyncEngineCount = 1;
  is.unifiedAddressing = 1;
  is.memoryBusWidth = 64;
  is.l2CacheSize = last_level_cache();
  is.maxThreadsPerMultiProcessor = 2048;
  is.maxBlocksPerMultiProcessor = 32;
  is.streamPrioritiesSupported = 1;
  is.globalL1CacheSupported = is.localL1CacheSupported = 1;
  is.managedMemory = 1;
  is.hostNativeAtomicSupported = 1;
  is.pageableMemoryAccess = 1;
  is.pageableMemoryAccessUsesHostPageTables = 1;
  is.concurrentManagedAccess = 1;
  is.directManagedMemAccessFromHost = 1;
  is.computePreemptionSupported = 1;
  is.canUseHostPointerForRegisteredMem = 1;
  is.hostRegisterSupported = 1;
  is.hostRegisterReadOnlySupported = 1;
  is.memoryPoolsSupported = 1;
  is.ipcEventSupported = 1;
  is.deviceNumaId = -1;
  is.hostNumaId = 0;
  return is;
}

std::optional<int> device_attribute(cudaDeviceAttr attribute, int ordinal) {
  if (attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax) return std::nullopt;
  const auto* fixed =
      std::find_if(std::begin(kFixed), std::end(kFixed),
                   [=](const FixedAttribute& one) { return one.attribute == attribute; });
  if (fixed != std::end(kFixed)) return fixed->value;
  const cudaDeviceProp properties = describe_device(ordinal);
  const auto* field =
      std::find_if(std::begin(kFields), std::end(kFields),
                   [=](const FieldAttribute& one) { return one.attribute == attribute; });
  if (field != std::end(kFields)) return properties.*(field->field);
  // Textures, surfaces and the like: a host device has none.
  return computed_attribute(attribute, properties).value_or(0);
}

}  // namespace ripieno::hostrt

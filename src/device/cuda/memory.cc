// Allocation by physical handle, exports and imports.
#include "device/cuda/memory.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/unique_fd.h"
#include "device/cuda/driver.h"
#include "device/cuda/errors.h"

namespace ripieno::device::cuda {
namespace {

constexpr std::chrono::seconds kFetchTimeout{10};

CUdeviceptr address(const void* pointer) noexcept {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
std::byte* pointer_to(CUdeviceptr value) noexcept {
  return reinterpret_cast<std::byte*>(
      value);  // NOLINT(performance-no-int-to-ptr): a device address
}

/// Makes `bytes` bytes of `physical` accessible to `device` at an address of the driver's choice.
std::byte* map_physical(CUmemGenericAllocationHandle physical, std::size_t bytes, int device) {
  CUdeviceptr place = 0;
  check(driver().reserve(&place, bytes, 0, 0, 0), "reserving device addresses");
  CUresult result = driver().map(place, bytes, 0, physical, 0);
  if (result == CUDA_SUCCESS) {
    CUmemAccessDesc access{};
    access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    result = driver().set_access(place, bytes, &access, 1);
    if (result != CUDA_SUCCESS) driver().unmap(place, bytes);
  }
  if (result != CUDA_SUCCESS) {
    driver().free_address(place, bytes);
    check(result, "mapping device memory");
  }
  return pointer_to(place);
}

void unmap_physical(std::byte* place, std::size_t bytes) noexcept {
  driver().unmap(address(place), bytes);
  driver().free_address(address(place), bytes);
}

/// Allocations of allocate_shareable() and their sizes.
class Shareable {
 public:
  static Shareable& instance() {
    static auto* const table = new Shareable;
    return *table;
  }
  void add(void* pointer, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_[pointer] = bytes;
  }
  std::optional<std::size_t> take(void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto entry = bytes_.find(pointer);
    if (entry == bytes_.end()) return std::nullopt;
    const std::size_t bytes = entry->second;
    bytes_.erase(entry);
    return bytes;
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> bytes_;
};

}  // namespace

void* allocate_shareable(int device, std::size_t bytes) {
  check(cudaFree(nullptr), "starting the device");  // The driver's calls need its context.
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  int rdma = 0;
  driver().device_attribute(&rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
                            device);
  properties.allocFlags.gpuDirectRDMACapable = static_cast<unsigned char>(rdma != 0);
  std::size_t grain = 0;
  check(driver().granularity(&grain, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "asking for the granularity of device memory");
  const std::size_t whole = (bytes + grain - 1) / grain * grain;
  CUmemGenericAllocationHandle physical = 0;
  check(driver().create(&physical, whole, &properties, 0), "allocating device memory");
  std::byte* pointer = nullptr;
  try {
    pointer = map_physical(physical, whole, device);
  } catch (const Error&) {
    driver().release(physical);
    throw;
  }
  driver().release(physical);  // The mapping keeps it.
  Shareable::instance().add(pointer, whole);
  return pointer;
}

bool release_shareable(void* pointer) {
  const std::optional<std::size_t> bytes = Shareable::instance().take(pointer);
  if (!bytes) return false;
  // As cudaFree() does: nothing that runs may still use it.
  check(cudaDeviceSynchronize(), "waiting for the device before its memory is freed");
  unmap_physical(static_cast<std::byte*>(pointer), *bytes);
  return true;
}

Allocation allocation_of(const void* pointer) {
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  unsigned long long id = 0;
  int legacy = 0;
  unsigned type = 0;
  std::array<CUpointer_attribute, 5> names = {
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
      CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  std::array<void*, 5> values = {&begin, &bytes, &id, &legacy, &type};
  check(driver().pointer_attributes(static_cast<unsigned>(names.size()), names.data(),
                                    values.data(), address(pointer)),
        "asking what memory a pointer belongs to");
  if (begin == 0 || type != CU_MEMORYTYPE_DEVICE) {
    throw Error(ncclInvalidArgument,
                "{} is not device memory; between processes, buffers must come from cudaMalloc or "
                "ncclMemAlloc",
                pointer);
  }
  return {pointer_to(begin), bytes, id, legacy != 0};
}

Export::Export(const Allocation& allocation) {
  handle_.bytes = allocation.bytes;
  if (allocation.legacy) {
    handle_.kind = ShareHandle::Kind::kLegacy;
    cudaIpcMemHandle_t handle;
    static_assert(sizeof handle == sizeof handle_.legacy);
    check(cudaIpcGetMemHandle(&handle, const_cast<std::byte*>(allocation.begin)),
          "sharing device memory with another process (cudaIpcGetMemHandle)");
    std::memcpy(handle_.legacy, &handle, sizeof handle);
    return;
  }
  handle_.kind = ShareHandle::Kind::kFile;
  CUmemGenericAllocationHandle physical = 0;
  check(driver().retain(&physical, const_cast<std::byte*>(allocation.begin)),
        "sharing device memory with another process (cuMemRetainAllocationHandle)");
  const CUresult exported =
      driver().export_handle(&fd_, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  driver().release(physical);
  check(exported, "sharing device memory with another process (cuMemExportToShareableHandle)");
  handle_.ticket = hostrt::publish_fd(fd_, allocation.bytes);
}

Export::~Export() {
  if (fd_ >= 0) {
    hostrt::withdraw_fd(handle_.ticket);
    close(fd_);
  }
}

Import::Import(const ShareHandle& handle) : kind_(handle.kind), bytes_(handle.bytes) {
  if (kind_ == ShareHandle::Kind::kLegacy) {
    cudaIpcMemHandle_t legacy;
    std::memcpy(&legacy, handle.legacy, sizeof legacy);
    void* pointer = nullptr;
    check(cudaIpcOpenMemHandle(&pointer, legacy, cudaIpcMemLazyEnablePeerAccess),
          "mapping the device memory of a peer process (cudaIpcOpenMemHandle)");
    begin_ = static_cast<std::byte*>(pointer);
    return;
  }
  const hostrt::FetchedFd fetched = hostrt::fetch_fd(handle.ticket, kFetchTimeout);
  const UniqueFd fd(fetched.fd);
  close(fetched.link);
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  CUmemGenericAllocationHandle physical = 0;
  check(driver().import_handle(&physical,
                               // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's interface
                               reinterpret_cast<void*>(static_cast<std::intptr_t>(fd.get())),
                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "mapping the device memory of a peer process (cuMemImportFromShareableHandle)");
  try {
    begin_ = map_physical(physical, bytes_, device);
  } catch (const Error&) {
    driver().release(physical);
    throw;
  }
  physical_ = physical;
}

Import::~Import() {
  if (begin_ == nullptr) return;
  if (kind_ == ShareHandle::Kind::kLegacy) {
    cudaIpcCloseMemHandle(begin_);
    return;
  }
  unmap_physical(begin_, bytes_);
  driver().release(physical_);
}

}  // namespace ripieno::device::cuda

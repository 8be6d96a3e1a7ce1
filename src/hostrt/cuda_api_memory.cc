// Allocating, freeing, registering, and asking about memory.
#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "hostrt/api.h"
#include "hostrt/arena.h"
#include "hostrt/capture.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/host_memory.h"
#include "hostrt/import.h"
#include "hostrt/operations.h"

namespace ripieno::hostrt::cuda {
namespace {

constexpr std::size_t kPitchAlignment = 512;

void* allocate_here(std::size_t size, MemoryKind kind, unsigned flags = 0) {
  const int device = current_virtual_device().ordinal();
  return Arena::instance().allocate(device, size, kind, flags);
}

/// What the system could still give, or the largest number where it does not say.
std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  std::string unit;
  while (file >> name >> kilobytes >> unit) {
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

/// Frees after all work that may use the memory, as the CUDA runtime does.
void free_block(void* pointer) {
  refuse_unsafe_call();
  Arena& arena = Arena::instance();
  const auto block = arena.find(pointer);
  require(block.has_value(),
          "the pointer to free is not the start of an allocation (freed before, or foreign)");
  device(block->device).synchronize();
  arena.release(pointer);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t size) {
  return call([&] {
    require(pointer != nullptr, "no place for the pointer");
    refuse_unsafe_call();
    *pointer = allocate_here(size, MemoryKind::kDevice);
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return call([&] {
    require(pointer != nullptr && pitch != nullptr, "no place for the pointer or the pitch");
    refuse_unsafe_call();
    const std::size_t padded = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    if (padded < width ||
        (height > 0 && padded > std::numeric_limits<std::size_t>::max() / height)) {
      fail(cudaErrorMemoryAllocation, "larger than any memory");
    }
    *pointer = allocate_here(padded * height, MemoryKind::kDevice);
    *pitch = padded;
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned int flags) {
  return call([&] {
    require(pointer != nullptr && size > 0, "no place for the pointer, or no size");
    require(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost,
            "flags must be one of cudaMemAttach*");
    refuse_unsafe_call();
    *pointer = allocate_here(size, MemoryKind::kManaged, flags);
  });
}

cudaError_t cudaFree(void* pointer) {
  return call([&] {
    if (pointer != nullptr) free_block(pointer);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return cuda::cudaHostAlloc(pointer, size, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags) {
  return call([&] {
    constexpr unsigned kKnown =
        cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    require(pointer != nullptr && (flags & ~kKnown) == 0,
            "no place for the pointer, or unknown flags");
    refuse_unsafe_call();
    *pointer = allocate_here(size, MemoryKind::kHost, flags);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return call([&] {
    if (pointer == nullptr) return;
    const auto block = Arena::instance().find(pointer);
    require(block && block->kind == MemoryKind::kHost, "not host memory of this runtime");
    free_block(pointer);
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int flags) {
  return call([&] {
    constexpr unsigned kKnown = cudaHostRegisterPortable | cudaHostRegisterMapped |
                                cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
    require(pointer != nullptr && size > 0 && (flags & ~kKnown) == 0,
            "no memory, or unknown flags");
    refuse_unsafe_call();
    if (arena_offset(pointer)) {
      fail(cudaErrorHostMemoryAlreadyRegistered, "this memory was allocated by the runtime");
    }
    HostMemory::instance().add(pointer, size, current_virtual_device().ordinal(), flags);
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return call([&] {
    require(pointer != nullptr, "no pointer");
    refuse_unsafe_call();
    HostMemory::instance().remove(pointer);
  });
}

cudaError_t cudaHostGetDevicePointer(void** devicePointer, void* hostPointer, unsigned int flags) {
  return call([&] {
    require(devicePointer != nullptr && hostPointer != nullptr && flags == 0,
            "no pointer, or flags not 0");
    const auto block = Arena::instance().find(hostPointer);
    const bool pinned = block && block->kind != MemoryKind::kDevice;
    require(pinned || HostMemory::instance().find(hostPointer),
            "not pinned or registered host memory");
    *devicePointer = hostPointer;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* hostPointer) {
  return call([&] {
    require(flags != nullptr && hostPointer != nullptr, "no pointer, or no place for the flags");
    if (const auto block = Arena::instance().find(hostPointer);
        block && block->kind == MemoryKind::kHost) {
      *flags = block->flags | cudaHostAllocMapped;
      return;
    }
    const auto range = HostMemory::instance().find(hostPointer);
    require(range.has_value(), "not pinned or registered host memory");
    *flags = range->flags | cudaHostRegisterMapped;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call([&] {
    current_virtual_device();
    const std::uint64_t all = Arena::total_bytes();
    // All virtual devices live in the one memory of the machine, and so do other processes.
    const std::uint64_t unused = all - std::min(all, Arena::instance().used_bytes());
    if (free != nullptr) *free = std::min(unused, available_bytes());
    if (total != nullptr) *total = all;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call([&] {
    require(attributes != nullptr, "no place for the attributes");
    auto* address = const_cast<void*>(pointer);
    *attributes = {};
    attributes->device = cudaInvalidDeviceId;
    if (const auto block =
            Arena::range().empty() ? std::nullopt : Arena::instance().find(pointer)) {
      attributes->device = block->device;
      attributes->type = block->kind == MemoryKind::kDevice ? cudaMemoryTypeDevice
                         : block->kind == MemoryKind::kHost ? cudaMemoryTypeHost
                                                            : cudaMemoryTypeManaged;
      attributes->devicePointer = address;
      attributes->hostPointer = block->kind == MemoryKind::kDevice ? nullptr : address;
    } else if (const auto range = HostMemory::instance().find(pointer)) {
      attributes->device = range->device;
      attributes->type = cudaMemoryTypeHost;
      attributes->devicePointer = attributes->hostPointer = address;
    } else if (const auto device = imported_device(pointer)) {
      attributes->device = *device;
      attributes->type = cudaMemoryTypeDevice;
      attributes->devicePointer = address;
    } else {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->hostPointer = address;
    }
  });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t /*size*/, cudaMemoryAdvise /*advice*/,
                          cudaMemLocation /*location*/) {
  return call([&] {  // all memory is equally near
    const auto block = Arena::instance().find(pointer);
    require(block && block->kind == MemoryKind::kManaged, "not managed memory");
  });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t /*size*/, cudaMemLocation /*location*/,
                                 unsigned int flags, cudaStream_t stream) {
  return call([&] {
    require(flags == 0, "flags must be 0");
    const auto block = Arena::instance().find(pointer);
    require(block && block->kind == MemoryKind::kManaged, "not managed memory");
    resolve_stream(stream);
  });
}

}  // namespace ripieno::hostrt::cuda

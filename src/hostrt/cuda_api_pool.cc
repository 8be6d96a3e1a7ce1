// Memory in stream order and memory pools. All pools draw from the arena directly: a pool is a
// handle with attributes, and memory freed in stream order goes back at once when the stream gets
// there.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "hostrt/api.h"
#include "hostrt/arena.h"
#include "hostrt/capture.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/operations.h"
#include "hostrt/submit.h"

namespace ripieno::hostrt {
namespace {

class MemoryPool {
 public:
  static constexpr std::uint64_t kHandleMark = 0x7269'706f'6f6c'2121ULL;
  using Pool = HandlePool<MemoryPool, cudaMemPool_t>;
  explicit MemoryPool(int ordinal) : device(ordinal) {}
  const int device;
  std::array<std::atomic<std::uint64_t>, 9> attributes{};  ///< By cudaMemPoolAttr.
};

/// Default and current pools of all devices, made on first use.
struct DevicePools {
  std::mutex mutex;
  std::vector<MemoryPool*> defaults;
  std::vector<MemoryPool*> current;

  void fill() {
    for (int ordinal = static_cast<int>(defaults.size()); ordinal < device_count(); ++ordinal) {
      defaults.push_back(MemoryPool::Pool::create(ordinal));
      current.push_back(defaults.back());
    }
  }
};

/// Never destroyed; see device.cc.
DevicePools& device_pools() {
  static auto* const pools = new DevicePools;
  return *pools;
}

MemoryPool& resolve_pool(cudaMemPool_t handle) {
  MemoryPool* pool = MemoryPool::Pool::find(handle);
  require(pool != nullptr, "the memory pool does not exist");
  return *pool;
}

std::atomic<std::uint64_t>& attribute_of(cudaMemPool_t handle, cudaMemPoolAttr attribute) {
  MemoryPool& pool = resolve_pool(handle);
  require(attribute >= cudaMemPoolReuseFollowEventDependencies &&
              attribute <= cudaMemPoolAttrUsedMemHigh,
          "no such attribute");
  return pool.attributes[static_cast<std::size_t>(attribute)];
}

/// The first three are ints, the others 64-bit numbers.
bool is_int(cudaMemPoolAttr attribute) {
  return attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

void allocate_in_order(void** pointer, std::size_t size, int device, cudaStream_t stream) {
  require(pointer != nullptr, "no place for the pointer");
  Stream& target = resolve_stream(stream);
  if (is_captured(target)) {
    refuse_while_captured(
        target);  // allocations as graph nodes are not supported: the capture becomes invalid
  }
  *pointer = Arena::instance().allocate(device, size, MemoryKind::kDevice);
}

}  // namespace

namespace cuda {

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  return call([&] { allocate_in_order(pointer, size, resolve_stream(stream).device(), stream); });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return call([&] { allocate_in_order(pointer, size, resolve_pool(pool).device, stream); });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return call([&] {
    Stream& target = resolve_stream(stream);
    if (pointer == nullptr) return;
    const auto block = Arena::instance().find(pointer);
    require(block && Arena::instance().base() + block->extent.begin == pointer,
            "the pointer to free is not the start of an allocation");
    refuse_while_captured(target);
    order_default_streams(target);
    auto task = make_free_task(pointer);
    if (!target.run_if_idle([&] { task->poll(); })) target.push(std::move(task));
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return call([&] {
    require(pool != nullptr, "no place for the pool");
    hostrt::device(device);
    DevicePools& pools = device_pools();
    const std::lock_guard guard(pools.mutex);
    pools.fill();
    *pool = MemoryPool::Pool::handle_of(pools.defaults[static_cast<std::size_t>(device)]);
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return call([&] {
    require(pool != nullptr, "no place for the pool");
    hostrt::device(device);
    DevicePools& pools = device_pools();
    const std::lock_guard guard(pools.mutex);
    pools.fill();
    *pool = MemoryPool::Pool::handle_of(pools.current[static_cast<std::size_t>(device)]);
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return call([&] {
    hostrt::device(device);
    MemoryPool& chosen = resolve_pool(pool);
    require(chosen.device == device, "the memory pool belongs to another device");
    DevicePools& pools = device_pools();
    const std::lock_guard guard(pools.mutex);
    pools.fill();
    pools.current[static_cast<std::size_t>(device)] = &chosen;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return call([&] {
    require(pool != nullptr && properties != nullptr, "no properties, or no place for the pool");
    require(properties->allocType == cudaMemAllocationTypePinned &&
                properties->location.type == cudaMemLocationTypeDevice,
            "a pool holds pinned memory of a device");
    if (properties->handleTypes != cudaMemHandleTypeNone) {
      fail(cudaErrorNotSupported, "pools whose memory is exported by handle");
    }
    hostrt::device(properties->location.id);
    *pool = MemoryPool::Pool::handle_of(MemoryPool::Pool::create(properties->location.id));
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return call([&] {
    MemoryPool& doomed = resolve_pool(pool);
    DevicePools& pools = device_pools();
    const std::lock_guard guard(pools.mutex);
    pools.fill();
    const auto device = static_cast<std::size_t>(doomed.device);
    require(pools.defaults[device] != &doomed, "a device's default pool cannot be destroyed");
    if (pools.current[device] == &doomed) pools.current[device] = pools.defaults[device];
    MemoryPool::Pool::destroy(&doomed);
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t /*bytesToKeep*/) {
  return call([&] { resolve_pool(pool); });  // a pool keeps nothing
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call([&] {
    require(value != nullptr, "no value");
    attribute_of(pool, attribute)
        .store(is_int(attribute) ? static_cast<std::uint64_t>(*static_cast<const int*>(value))
                                 : *static_cast<const std::uint64_t*>(value));
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call([&] {
    require(value != nullptr, "no place for the value");
    const std::uint64_t kept = attribute_of(pool, attribute).load();
    if (is_int(attribute)) {
      *static_cast<int*>(value) = static_cast<int>(kept);
    } else {
      *static_cast<std::uint64_t*>(value) = kept;
    }
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count) {
  return call([&] {
    resolve_pool(pool);
    require(list != nullptr || count == 0, "no list");
    for (std::size_t index = 0; index < count; ++index) {
      require(list[index].location.type == cudaMemLocationTypeDevice, "access is given to devices");
      hostrt::device(list[index].location.id);
    }
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  return call([&] {
    require(flags != nullptr && location != nullptr, "no location, or no place for the flags");
    resolve_pool(pool);
    *flags = cudaMemAccessFlagsProtReadWrite;  // every device reaches all memory
  });
}

}  // namespace cuda
}  // namespace ripieno::hostrt

// A hash table in shards, so that threads that drive different ranks do not meet at one lock.
#include "comm/registry.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "base/error.h"

namespace ripieno::comm {
namespace {

struct alignas(64) Shard {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, std::shared_ptr<Communicator>> communicators;
};

constexpr std::size_t kShards = 64;

Shard& shard_of(ncclComm_t handle) {
  // Never destroyed: frameworks call in from static destructors.
  static auto* const shards = new std::array<Shard, kShards>;
  return (*shards)[(reinterpret_cast<std::uintptr_t>(handle) >> 6) % kShards];
}

Error unknown_handle(ncclComm_t handle) {
  if (handle == nullptr) {
    return {ncclInvalidArgument, "comm is NULL"};
  }
  return {
      ncclInvalidArgument,
      "comm {} is not a live communicator: it was already destroyed or aborted, or never created",
      fmt::ptr(handle)};
}

}  // namespace

ncclComm_t add_handle(std::shared_ptr<Communicator> communicator) {
  const auto handle = reinterpret_cast<ncclComm_t>(communicator.get());
  Shard& shard = shard_of(handle);
  const std::lock_guard lock(shard.mutex);
  shard.communicators.emplace(handle, std::move(communicator));
  return handle;
}

std::shared_ptr<Communicator> find_handle(ncclComm_t handle) {
  Shard& shard = shard_of(handle);
  const std::lock_guard lock(shard.mutex);
  const auto entry = shard.communicators.find(handle);
  if (entry == shard.communicators.end()) {
    throw unknown_handle(handle);
  }
  return entry->second;
}

std::shared_ptr<Communicator> remove_handle(ncclComm_t handle) {
  Shard& shard = shard_of(handle);
  const std::lock_guard lock(shard.mutex);
  auto node = shard.communicators.extract(handle);
  if (node.empty()) {
    throw unknown_handle(handle);
  }
  return std::move(node.mapped());
}

}  // namespace ripieno::comm

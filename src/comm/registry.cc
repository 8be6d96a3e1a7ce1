// A hash table in shards, so that threads that drive different ranks do not meet at one lock.
#include "comm/registry.h"

#include <pthread.h>

#include <array>
#include <atomic>
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

/// Set in a child made by fork(): what it inherited is its parent's, which still uses it.
constinit std::atomic<bool> forked{false};

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forked.store(true); }); });
}

/// Before any lock is taken: another thread may have held it at the fork.
void check_process() {
  if (forked.load(std::memory_order_relaxed)) [[unlikely]] {
    throw Error(ncclInvalidUsage,
                "this process was forked after communicators were made: they belong to its parent; "
                "fork first, or execute a new program");
  }
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
  watch_forks();
  check_process();
  const auto handle = reinterpret_cast<ncclComm_t>(communicator.get());
  Shard& shard = shard_of(handle);
  const std::lock_guard lock(shard.mutex);
  shard.communicators.emplace(handle, std::move(communicator));
  return handle;
}

std::shared_ptr<Communicator> find_handle(ncclComm_t handle) {
  check_process();
  Shard& shard = shard_of(handle);
  const std::lock_guard lock(shard.mutex);
  const auto entry = shard.communicators.find(handle);
  if (entry == shard.communicators.end()) {
    throw unknown_handle(handle);
  }
  return entry->second;
}

std::shared_ptr<Communicator> remove_handle(ncclComm_t handle) {
  check_process();
  Shard& shard = shard_of(handle);
  const std::lock_guard lock(shard.mutex);
  auto node = shard.communicators.extract(handle);
  if (node.empty()) {
    throw unknown_handle(handle);
  }
  return std::move(node.mapped());
}

}  // namespace ripieno::comm

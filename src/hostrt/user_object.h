// User objects: something of the program's, with a counted number of references, whose destroy
// function runs when the last reference is dropped. Graphs and their executable forms hold
// references.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <utility>

#include "hostrt/handle.h"

namespace ripieno::hostrt {

class UserObject {
 public:
  static constexpr std::uint64_t kHandleMark = 0x7269'6f62'6a65'6374ULL;
  using Pool = HandlePool<UserObject, cudaUserObject_t>;

  UserObject(void* pointer, cudaHostFn_t destroy, unsigned references)
      : pointer_(pointer), destroy_(destroy), references_(references) {}

  void retain(unsigned count) noexcept { references_.fetch_add(count, std::memory_order_relaxed); }
  void release(unsigned count) noexcept {
    if (references_.fetch_sub(count, std::memory_order_acq_rel) != count) return;
    void* const pointer = pointer_;
    const cudaHostFn_t destroy = destroy_;
    Pool::destroy(this);
    destroy(pointer);
  }
  [[nodiscard]] unsigned references() const noexcept {
    return references_.load(std::memory_order_relaxed);
  }

 private:
  void* const pointer_;
  const cudaHostFn_t destroy_;
  std::atomic<unsigned> references_;
};

/// References that a graph holds. A copy retains each object once.
class UserObjectSet {
 public:
  UserObjectSet() = default;
  UserObjectSet(const UserObjectSet& other) {
    for (const auto& [object, count] : other.counts_) {
      object->retain(1);
      counts_.emplace(object, 1);
    }
  }
  UserObjectSet& operator=(UserObjectSet other) noexcept {
    counts_.swap(other.counts_);
    return *this;
  }
  ~UserObjectSet() {
    for (const auto& [object, count] : counts_) object->release(count);
  }

  /// Takes over `count` references.
  void adopt(UserObject& object, unsigned count) { counts_[&object] += count; }
  /// Drops `count` references; false if it does not hold so many.
  bool drop(UserObject& object, unsigned count) {
    const auto found = counts_.find(&object);
    if (found == counts_.end() || found->second < count) return false;
    found->second -= count;
    if (found->second == 0) counts_.erase(found);
    object.release(count);
    return true;
  }
  [[nodiscard]] bool empty() const noexcept { return counts_.empty(); }

 private:
  std::map<UserObject*, unsigned> counts_;
};

}  // namespace ripieno::hostrt

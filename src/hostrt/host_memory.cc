// Registered host memory; see host_memory.h.
#include "hostrt/host_memory.h"

#include <iterator>

#include "hostrt/runtime.h"

namespace ripieno::hostrt {

HostMemory& HostMemory::instance() {
  // Never destroyed: other threads may look pointers up while the process exits.
  static auto* const memory = new HostMemory;
  return *memory;
}

void HostMemory::add(const void* pointer, std::size_t bytes, int device, unsigned flags) {
  const auto* begin = static_cast<const std::byte*>(pointer);
  const std::lock_guard guard(mutex_);
  const auto after = ranges_.lower_bound(begin);
  const bool meets_next = after != ranges_.end() && after->first < begin + bytes;
  const bool meets_previous =
      after != ranges_.begin() && std::prev(after)->first + std::prev(after)->second.bytes > begin;
  if (meets_next || meets_previous) {
    throw RuntimeError(cudaErrorHostMemoryAlreadyRegistered,
                       "part of this host memory is registered already");
  }
  ranges_.emplace(begin, Range{begin, bytes, device, flags});
}

void HostMemory::remove(const void* pointer) {
  const std::lock_guard guard(mutex_);
  if (ranges_.erase(static_cast<const std::byte*>(pointer)) == 0) {
    throw RuntimeError(cudaErrorHostMemoryNotRegistered,
                       "no registered host memory begins at this pointer");
  }
}

std::optional<HostMemory::Range> HostMemory::find(const void* pointer) const {
  const auto* address = static_cast<const std::byte*>(pointer);
  const std::lock_guard guard(mutex_);
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return std::nullopt;
  const Range& range = std::prev(after)->second;
  if (address >= range.begin + range.bytes) return std::nullopt;
  return range;
}

}  // namespace ripieno::hostrt

// Ranges of ordinary host memory that the program has registered (cudaHostRegister). Here that is
// bookkeeping only: every thread of the runtime reaches all memory of the process anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace ripieno::hostrt {

class HostMemory {
 public:
  struct Range {
    const std::byte* begin;
    std::size_t bytes;
    int device;
    unsigned flags;
  };

  static HostMemory& instance();

  /// Throws RuntimeError(cudaErrorHostMemoryAlreadyRegistered) where it overlaps a range.
  void add(const void* pointer, std::size_t bytes, int device, unsigned flags);
  /// Throws RuntimeError(cudaErrorHostMemoryNotRegistered).
  void remove(const void* pointer);
  /// The range `pointer` lies in.
  [[nodiscard]] std::optional<Range> find(const void* pointer) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, Range> ranges_;
};

}  // namespace ripieno::hostrt

// The memory of all virtual devices of the process: one sparse memfd mapped at one place, and the
// blocks handed out of it. Pinned host memory and managed memory come from here too, so peers reach
// them the same way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "hostrt/extent_allocator.h"

namespace ripieno::hostrt {

enum class MemoryKind : std::uint8_t { kDevice, kHost, kManaged };

/// One allocation.
struct Block {
  Extent extent;
  std::uint64_t requested = 0;
  int device = 0;
  MemoryKind kind = MemoryKind::kDevice;
  unsigned flags = 0;  ///< As given to cudaHostAlloc.
};

class Arena {
 public:
  /// The process's arena, created on first use. Throws RuntimeError if there is no address space
  /// for it.
  static Arena& instance();
  /// Where it is mapped; empty before the first use. Lock-free.
  static std::span<std::byte> range() noexcept {
    return {base_.load(std::memory_order_acquire), size_.load(std::memory_order_relaxed)};
  }
  /// In a forked child: forgets the mapping, which did not survive the fork.
  static void abandon_after_fork() noexcept;

  /// Bytes a device of this machine has: the physical memory, or the control group's limit where
  /// that is less.
  static std::uint64_t total_bytes();

  /// Throws RuntimeError(cudaErrorMemoryAllocation). Null for zero bytes.
  void* allocate(int device, std::uint64_t bytes, MemoryKind kind, unsigned flags = 0);
  /// Throws RuntimeError(cudaErrorInvalidValue) where no block begins at `pointer`.
  void release(void* pointer);

  /// The block that `pointer` lies in.
  [[nodiscard]] std::optional<Block> find(const void* pointer) const;
  [[nodiscard]] std::uint64_t used_bytes() const;
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] std::byte* base() const noexcept { return memory_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return reserved_; }

 private:
  Arena();
  void punch(Extent pages) noexcept;
  void poison_beyond(const Extent& extent) noexcept;

  static inline std::atomic<std::byte*> base_{nullptr};
  static inline std::atomic<std::size_t> size_{0};
  static inline std::atomic<int> open_fd_{-1};

  int fd_ = -1;
  std::byte* memory_ = nullptr;
  std::uint64_t reserved_ = 0;

  mutable std::mutex mutex_;  // guards all below
  std::optional<ExtentAllocator> extents_;
  std::map<std::uint64_t, Block> blocks_;  // by offset
  std::uint64_t used_ = 0;
  std::uint64_t high_water_ = 0;  // end of the highest piece ever handed out
};

}  // namespace ripieno::hostrt

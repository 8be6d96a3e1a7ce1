// Device memory that crosses the border of a process. An allocation is exported once, as a handle
// that another process of the host can open; which allocation a pointer belongs to is asked of the
// driver each time it is not known for sure, and its buffer id tells a reused address from the
// memory that was there before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "hostrt/runtime.h"

namespace ripieno::device::cuda {

/// Memory that any process of the host can map by handle (ncclMemAlloc). The device must be
/// current. Throws Error.
[[nodiscard]] void* allocate_shareable(int device, std::size_t bytes);
/// Frees it; false if `pointer` is none of allocate_shareable().
bool release_shareable(void* pointer);

/// The allocation that holds a pointer.
struct Allocation {
  const std::byte* begin;
  std::size_t bytes;
  std::uint64_t id;  ///< Never used twice in a process.
  bool legacy;       ///< From cudaMalloc: shared by an interprocess handle of the runtime.
};
/// Throws Error (ncclInvalidArgument) when `pointer` is not device memory.
[[nodiscard]] Allocation allocation_of(const void* pointer);

/// What another process needs to open an allocation. Trivially copyable.
struct ShareHandle {
  enum class Kind : std::uint32_t { kNone, kLegacy, kFile };
  Kind kind;
  std::int32_t device;  ///< Of the opening process, filled in there.
  std::uint64_t bytes;
  char legacy[64];          ///< kLegacy: a cudaIpcMemHandle_t.
  hostrt::FdTicket ticket;  ///< kFile: where to fetch the descriptor.
};

/// Keeps an allocation open to other processes.
class Export {
 public:
  explicit Export(const Allocation& allocation);
  ~Export();
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  [[nodiscard]] const ShareHandle& handle() const noexcept { return handle_; }

 private:
  ShareHandle handle_{};
  int fd_ = -1;
};

/// Another process's allocation, mapped here.
class Import {
 public:
  /// On the current device. Throws Error.
  explicit Import(const ShareHandle& handle);
  ~Import();
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }

 private:
  ShareHandle::Kind kind_;
  std::size_t bytes_;
  std::byte* begin_ = nullptr;
  unsigned long long physical_ = 0;
};

}  // namespace ripieno::device::cuda

// The arena: reservation, blocks, and giving pages back; see arena.h.
#include "hostrt/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "hostrt/process.h"
#include "hostrt/runtime.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace ripieno::hostrt {
namespace {

void poison(const std::byte* begin, std::uint64_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(begin, bytes);
#else
  static_cast<void>(begin);
  static_cast<void>(bytes);
#endif
}

void unpoison(const std::byte* begin, std::uint64_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(begin, bytes);
#else
  static_cast<void>(begin);
  static_cast<void>(bytes);
#endif
}

std::uint64_t page_floor(std::uint64_t offset) {
  return offset / ExtentAllocator::kPage * ExtentAllocator::kPage;
}
std::uint64_t page_ceil(std::uint64_t offset) {
  return page_floor(offset + ExtentAllocator::kPage - 1);
}

/// The control group's memory limit, or the largest number where there is none.
std::uint64_t group_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::uint64_t limit = UINT64_MAX;
  return file >> limit ? limit : UINT64_MAX;
}

}  // namespace

std::uint64_t Arena::total_bytes() {
  static const std::uint64_t total = [] {
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    return std::min(pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)), group_limit());
  }();
  return total;
}

Arena& Arena::instance() {
  check_process();
  // Never destroyed: threads may still use device memory while the process exits, and the kernel
  // takes all of it then.
  static Arena* const arena = new Arena;
  return *arena;
}

Arena::Arena() {
  constexpr std::uint64_t kLeast = 64ULL << 20;
  mark_started();
  fd_ = memfd_create("ripieno-arena", MFD_CLOEXEC);
  if (fd_ < 0)
    throw RuntimeError(cudaErrorMemoryAllocation, "memfd_create failed for the device memory");
  // Twice the memory, so that fragments never stand in the way before the memory itself is used up.
  for (reserved_ = page_floor(2 * total_bytes()); reserved_ >= kLeast;
       reserved_ = page_floor(reserved_ / 2)) {
    if (ftruncate(fd_, static_cast<off_t>(reserved_)) != 0) continue;
    void* mapped =
        mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
    if (mapped != MAP_FAILED) {
      memory_ = static_cast<std::byte*>(mapped);
      break;
    }
  }
  if (memory_ == nullptr) {
    close(fd_);
    throw RuntimeError(cudaErrorMemoryAllocation,
                       "no address space for the device memory, not even 64 MiB (RLIMIT_AS?)");
  }
  madvise(memory_, reserved_, MADV_DONTFORK);
  extents_.emplace(reserved_);
  open_fd_.store(fd_);
  size_.store(reserved_, std::memory_order_relaxed);
  base_.store(memory_, std::memory_order_release);
}

void Arena::abandon_after_fork() noexcept {
  base_.store(nullptr);
  size_.store(0);
  const int fd = open_fd_.exchange(-1);
  if (fd >= 0) close(fd);
}

void* Arena::allocate(int device, std::uint64_t bytes, MemoryKind kind, unsigned flags) {
  if (bytes == 0) return nullptr;
  const std::lock_guard guard(mutex_);
  const std::uint64_t total = total_bytes();
  std::optional<Extent> extent;
  if (bytes <= total && ExtentAllocator::rounded(bytes) <= total - std::min(total, used_)) {
    extent = extents_->allocate(bytes);
  }
  if (!extent) {
    throw RuntimeError(cudaErrorMemoryAllocation, "no room for " + std::to_string(bytes) +
                                                      " bytes on device " + std::to_string(device) +
                                                      ": " + std::to_string(used_) + " of " +
                                                      std::to_string(total) + " bytes are in use");
  }
  blocks_.emplace(
      extent->begin,
      Block{.extent = *extent, .requested = bytes, .device = device, .kind = kind, .flags = flags});
  used_ += extent->size();
  unpoison(memory_ + extent->begin, bytes);
  poison_beyond(*extent);
  return memory_ + extent->begin;
}

void Arena::release(void* pointer) {
  if (pointer == nullptr) return;
  Extent extent;
  {
    const std::lock_guard guard(mutex_);
    const auto address = static_cast<std::byte*>(pointer);
    const auto found = address >= memory_ && address < memory_ + reserved_
                           ? blocks_.find(static_cast<std::uint64_t>(address - memory_))
                           : blocks_.end();
    if (found == blocks_.end()) {
      throw RuntimeError(
          cudaErrorInvalidValue,
          "the pointer to free is not the start of an allocation (freed before, or foreign)");
    }
    extent = found->second.extent;
    blocks_.erase(found);
    poison(memory_ + extent.begin, extent.size());
  }
  // The block belongs to nobody here: its inner pages go back to the system without holding up
  // other threads.
  const Extent inner{page_ceil(extent.begin), page_floor(extent.end)};
  if (inner.begin < inner.end) punch(inner);

  const std::lock_guard guard(mutex_);
  used_ -= extent.size();
  const Extent merged = extents_->release(extent);
  // A page at either end may have become wholly free together with a neighbour.
  const Extent whole{page_ceil(merged.begin), page_floor(merged.end)};
  const Extent first{page_floor(extent.begin), page_ceil(extent.begin)};
  const Extent last{page_floor(extent.end), page_ceil(extent.end)};
  const auto give_back = [&](const Extent& page) {
    if (page.begin < page.end && page.begin >= whole.begin && page.end <= whole.end) punch(page);
  };
  give_back(first);
  if (last != first) give_back(last);
}

std::optional<Block> Arena::find(const void* pointer) const {
  const auto* address = static_cast<const std::byte*>(pointer);
  if (address < memory_ || address >= memory_ + reserved_) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(address - memory_);
  const std::lock_guard guard(mutex_);
  auto after = blocks_.upper_bound(offset);
  if (after == blocks_.begin()) return std::nullopt;
  const Block& block = std::prev(after)->second;
  if (offset >= block.extent.end) return std::nullopt;
  return block;
}

std::uint64_t Arena::used_bytes() const {
  const std::lock_guard guard(mutex_);
  return used_;
}

void Arena::punch(Extent pages) noexcept {
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(pages.begin),
            static_cast<off_t>(pages.size()));
}

void Arena::poison_beyond(const Extent& extent) noexcept {
  constexpr std::uint64_t kRedZone = ExtentAllocator::kPage;
  if (extent.end <= high_water_) return;
  high_water_ = extent.end;
  poison(memory_ + extent.end, std::min(kRedZone, reserved_ - extent.end));
}

// ---- The C++ face ----

std::span<std::byte> arena() noexcept {
  return Arena::range();
}

std::optional<std::uint64_t> arena_offset(const void* pointer) noexcept {
  const std::span<std::byte> range = Arena::range();
  const auto* address = static_cast<const std::byte*>(pointer);
  if (range.empty() || address < range.data() || address >= range.data() + range.size())
    return std::nullopt;
  return static_cast<std::uint64_t>(address - range.data());
}

void* allocate(int device, std::size_t bytes) {
  if (device < 0 || device >= device_count())
    throw RuntimeError(cudaErrorInvalidDevice, "no such device");
  return Arena::instance().allocate(device, bytes, MemoryKind::kDevice);
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  Arena::instance().release(pointer);
}

}  // namespace ripieno::hostrt

// Best fit over free extents; see extent_allocator.h.
#include "hostrt/extent_allocator.h"

namespace ripieno::hostrt {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t grain) {
  return (value + grain - 1) / grain * grain;
}

}  // namespace

ExtentAllocator::ExtentAllocator(std::uint64_t size) {
  insert({0, size});
}

std::uint64_t ExtentAllocator::rounded(std::uint64_t bytes) noexcept {
  return round_up(bytes, bytes < kPagedFrom ? kSmallGrain : kPage);
}

std::optional<Extent> ExtentAllocator::allocate(std::uint64_t bytes) {
  const std::uint64_t alignment = bytes < kPagedFrom ? kSmallGrain : kPage;
  const std::uint64_t size = rounded(bytes);
  if (size < bytes) return std::nullopt;
  // The smallest extents that are large enough may lie across a page so that the aligned piece does
  // not fit; any extent larger by a page does, so this loop ends soon.
  for (auto it = free_by_size_.lower_bound({size, 0}); it != free_by_size_.end(); ++it) {
    const Extent hole{it->second, it->second + it->first};
    const std::uint64_t begin = round_up(hole.begin, alignment);
    if (begin + size > hole.end) continue;
    erase(hole);
    if (begin > hole.begin) insert({hole.begin, begin});
    if (begin + size < hole.end) insert({begin + size, hole.end});
    return Extent{begin, begin + size};
  }
  return std::nullopt;
}

Extent ExtentAllocator::release(Extent piece) {
  auto after = free_by_begin_.lower_bound(piece.begin);
  Extent merged = piece;
  if (after != free_by_begin_.begin()) {
    const auto before = std::prev(after);
    if (before->second == piece.begin) {
      merged.begin = before->first;
      erase({before->first, before->second});
    }
  }
  after = free_by_begin_.lower_bound(piece.begin);
  if (after != free_by_begin_.end() && after->first == piece.end) {
    merged.end = after->second;
    erase({after->first, after->second});
  }
  insert(merged);
  return merged;
}

void ExtentAllocator::insert(Extent extent) {
  free_by_begin_.emplace(extent.begin, extent.end);
  free_by_size_.emplace(extent.size(), extent.begin);
}

void ExtentAllocator::erase(Extent extent) {
  free_by_begin_.erase(extent.begin);
  free_by_size_.erase({extent.size(), extent.begin});
}

}  // namespace ripieno::hostrt

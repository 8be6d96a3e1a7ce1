// Who owns which slice of a buffer. Plain constexpr arithmetic, shared by every backend.
#pragma once

#include <algorithm>
#include <cstddef>

namespace ripieno::coll {

struct Range {
  std::size_t begin;
  std::size_t end;
  [[nodiscard]] constexpr std::size_t size() const noexcept { return end - begin; }
};

/// Slice `part` of `count` elements cut into `parts` nearly equal slices whose inner borders are
/// multiples of `grain` elements. Slices are in order, disjoint, cover everything, and may be empty
/// at the end.
constexpr Range slice(std::size_t count, int part, int parts, std::size_t grain) noexcept {
  const std::size_t grains = (count + grain - 1) / grain;
  const auto n = static_cast<std::size_t>(parts);
  const auto p = static_cast<std::size_t>(part);
  const std::size_t each = grains / n;
  const std::size_t extra = grains % n;
  const std::size_t first = p * each + std::min(p, extra);
  const std::size_t last = first + each + (p < extra ? 1 : 0);
  return {std::min(first * grain, count), std::min(last * grain, count)};
}

}  // namespace ripieno::coll

// Hands out pieces of a range of offsets and takes them back: best fit over a map of free extents,
// merged with their neighbours. It knows nothing of the memory behind the offsets, so a test can
// drive it against a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ripieno::hostrt {

/// The piece [begin, end) of the range.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
  bool operator==(const Extent&) const = default;
};

class ExtentAllocator {
 public:
  static constexpr std::uint64_t kSmallGrain = 256;
  static constexpr std::uint64_t kPage = 4096;
  /// From this size up, pieces start and end on pages.
  static constexpr std::uint64_t kPagedFrom = 64 * 1024;

  /// `size` is a multiple of a page.
  explicit ExtentAllocator(std::uint64_t size);

  /// A piece of at least `bytes` (not zero), or nothing if no free extent is large enough. Pieces
  /// below kPagedFrom are multiples of kSmallGrain, larger ones whole pages.
  [[nodiscard]] std::optional<Extent> allocate(std::uint64_t bytes);

  /// Gives a piece (or a part of one) back; returns the free extent it has become part of.
  Extent release(Extent piece);

  /// What allocate(bytes) would take.
  [[nodiscard]] static std::uint64_t rounded(std::uint64_t bytes) noexcept;

  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& free_extents() const noexcept {
    return free_by_begin_;
  }

 private:
  void insert(Extent extent);
  void erase(Extent extent);

  std::map<std::uint64_t, std::uint64_t> free_by_begin_;            // begin -> end
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_size_;  // (size, begin)
};

}  // namespace ripieno::hostrt

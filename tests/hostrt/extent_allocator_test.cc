// The allocator against a model: a byte map of what is handed out.
#include "hostrt/extent_allocator.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace ripieno::hostrt {
namespace {

constexpr std::uint64_t kPage = ExtentAllocator::kPage;
constexpr std::uint64_t kGrain = ExtentAllocator::kSmallGrain;

TEST(ExtentAllocator, RoundsAndAligns) {
  ExtentAllocator extents(1 << 20);
  const auto small = extents.allocate(1);
  const auto large = extents.allocate(ExtentAllocator::kPagedFrom + 1);
  ASSERT_TRUE(small && large);
  EXPECT_EQ(small->size(), kGrain);
  EXPECT_EQ(large->begin % kPage, 0U);
  EXPECT_EQ(large->size(), ExtentAllocator::kPagedFrom + kPage);
}

TEST(ExtentAllocator, TakesTheSmallestHoleThatFits) {
  ExtentAllocator extents(1 << 20);
  const auto wide = extents.allocate(4 * kGrain);
  const auto wall = extents.allocate(kGrain);
  const auto narrow = extents.allocate(2 * kGrain);
  const auto second_wall = extents.allocate(kGrain);
  ASSERT_TRUE(wide && wall && narrow && second_wall);
  extents.release(*wide);
  extents.release(*narrow);
  EXPECT_EQ(extents.allocate(2 * kGrain), narrow);
  EXPECT_EQ(extents.allocate(3 * kGrain)->begin, wide->begin);
}

TEST(ExtentAllocator, MergesWithBothNeighbours) {
  ExtentAllocator extents(64 * kPage);
  std::vector<Extent> pieces;
  for (int count = 0; count < 3; ++count) pieces.push_back(extents.allocate(kGrain).value());
  extents.release(pieces[0]);
  extents.release(pieces[2]);
  EXPECT_EQ(extents.free_extents().size(), 2U);
  EXPECT_EQ(extents.release(pieces[1]), (Extent{0, 64 * kPage}));
  EXPECT_EQ(extents.free_extents().size(), 1U);
}

TEST(ExtentAllocator, SaysNoWhenFullOrAskedForTooMuch) {
  ExtentAllocator extents(16 * kPage);
  EXPECT_FALSE(extents.allocate(17 * kPage));
  EXPECT_FALSE(extents.allocate(UINT64_MAX));
  const auto all = extents.allocate(16 * kPage);
  ASSERT_TRUE(all);
  EXPECT_FALSE(extents.allocate(1));
  extents.release(*all);
  EXPECT_TRUE(extents.allocate(1));
}

TEST(ExtentAllocator, AgreesWithAModelUnderRandomUse) {
  constexpr std::uint64_t kSize = 4096 * kPage;
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    std::mt19937 random(seed);
    ExtentAllocator extents(kSize);
    std::vector<bool> taken(kSize / kGrain, false);
    std::vector<Extent> pieces;
    const auto mark = [&](const Extent& piece, bool value) {
      for (std::uint64_t grain = piece.begin / kGrain; grain < piece.end / kGrain; ++grain) {
        ASSERT_NE(taken[grain], value) << "grain " << grain << " handed out or taken back twice";
        taken[grain] = value;
      }
    };
    for (int step = 0; step < 3000; ++step) {
      const bool allocate = pieces.empty() || random() % 100 < 55;
      if (allocate) {
        const std::uint64_t limit = std::uint64_t{1} << (random() % 19);
        const std::uint64_t bytes = 1 + random() % limit;
        const auto piece = extents.allocate(bytes);
        if (!piece) continue;
        ASSERT_GE(piece->size(), bytes);
        ASSERT_LE(piece->end, kSize);
        ASSERT_EQ(piece->begin % (bytes < ExtentAllocator::kPagedFrom ? kGrain : kPage), 0U);
        ASSERT_NO_FATAL_FAILURE(mark(*piece, true));
        pieces.push_back(*piece);
      } else {
        const std::size_t index = random() % pieces.size();
        ASSERT_NO_FATAL_FAILURE(mark(pieces[index], false));
        extents.release(pieces[index]);
        pieces[index] = pieces.back();
        pieces.pop_back();
      }
    }
    // The free extents are exactly the runs of free grains: no overlap, and nothing left unmerged.
    std::uint64_t before = 0;
    bool first = true;
    for (const auto& [begin, end] : extents.free_extents()) {
      ASSERT_TRUE(first || begin > before) << "two free extents touch";
      for (std::uint64_t grain = before / kGrain; grain < begin / kGrain; ++grain)
        ASSERT_TRUE(taken[grain]);
      for (std::uint64_t grain = begin / kGrain; grain < end / kGrain; ++grain)
        ASSERT_FALSE(taken[grain]);
      before = end;
      first = false;
    }
    for (const Extent& piece : pieces) extents.release(piece);
    ASSERT_EQ(extents.free_extents().size(), 1U);
    EXPECT_EQ(extents.free_extents().begin()->second, kSize);
  }
}

}  // namespace
}  // namespace ripieno::hostrt

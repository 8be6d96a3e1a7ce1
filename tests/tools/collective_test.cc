// Counts, places and factors of the collectives.
#include "perf/collective.h"

#include <gtest/gtest.h>

#include <vector>

#include "command.h"

namespace ripieno::tool::perf {
namespace {

std::vector<Piece> pieces(const Collective& collective, const Counts& counts, int rank, int ranks,
                          int root) {
  std::vector<Piece> list;
  collective.for_pieces(counts, rank, ranks, root,
                        [&](const Piece& piece) { list.push_back(piece); });
  return list;
}

TEST(Collective, SizesOfWholeBuffersAreTakenAsTheyAre) {
  for (const char* name : {"all_reduce", "broadcast", "reduce", "sendrecv"}) {
    SCOPED_TRACE(name);
    const Counts counts = find_collective(name).counts(1003, 4, 3);
    EXPECT_EQ(counts.argument, 250U);
    EXPECT_EQ(counts.sent, 250U);
    EXPECT_EQ(counts.received, 250U);
  }
}

TEST(Collective, SizesInPartsAreRoundedDownToLinesOf16Bytes) {
  const Counts gathered = find_collective("all_gather").counts(1000, 4, 3);
  EXPECT_EQ(gathered.argument, 80U);  // 83 floats a rank, in lines of four.
  EXPECT_EQ(gathered.sent, 80U);
  EXPECT_EQ(gathered.received, 240U);
  const Counts scattered = find_collective("reduce_scatter").counts(1000, 4, 3);
  EXPECT_EQ(scattered.sent, 240U);
  EXPECT_EQ(scattered.received, 80U);
  const Counts swapped = find_collective("alltoall").counts(1000, 4, 3);
  EXPECT_EQ(swapped.sent, 240U);
  EXPECT_EQ(swapped.received, 240U);
  EXPECT_EQ(find_collective("gather").counts(8, 1, 4).argument, 0U);
}

TEST(Collective, BusFactorsAreThoseOfTheWireTraffic) {
  EXPECT_DOUBLE_EQ(find_collective("all_reduce").bus_factor(4), 1.5);
  for (const char* name : {"all_gather", "reduce_scatter", "alltoall", "gather", "scatter"}) {
    EXPECT_DOUBLE_EQ(find_collective(name).bus_factor(4), 0.75) << name;
  }
  for (const char* name : {"broadcast", "reduce", "sendrecv"}) {
    EXPECT_DOUBLE_EQ(find_collective(name).bus_factor(4), 1) << name;
  }
  EXPECT_DOUBLE_EQ(find_collective("all_reduce").bus_factor(1), 0);
}

TEST(Collective, InPlaceIsTheRanksOwnPart) {
  const Counts counts{10, 10, 40};
  EXPECT_EQ(find_collective("all_gather").in_place(counts, 3).send, 30U);
  EXPECT_EQ(find_collective("gather").in_place(counts, 2).send, 20U);
  EXPECT_EQ(find_collective("reduce_scatter").in_place(counts, 3).receive, 30U);
  EXPECT_EQ(find_collective("scatter").in_place(counts, 1).receive, 10U);
  EXPECT_EQ(find_collective("all_reduce").in_place(counts, 3).send, 0U);
}

TEST(Collective, PiecesNameTheirSource) {
  const Collective& all_to_all = find_collective("alltoall");
  const std::vector<Piece> swapped = pieces(all_to_all, all_to_all.counts(96, 1, 3), 1, 3, -1);
  ASSERT_EQ(swapped.size(), 3U);
  EXPECT_EQ(swapped[2].offset, 64U);
  EXPECT_EQ(swapped[2].source, 2);
  EXPECT_EQ(swapped[2].first, 32U);

  const Collective& gather = find_collective("gather");
  EXPECT_TRUE(pieces(gather, gather.counts(96, 1, 3), 1, 3, 2).empty());
  EXPECT_EQ(pieces(gather, gather.counts(96, 1, 3), 2, 3, 2).size(), 3U);

  const Collective& reduce_scatter = find_collective("reduce_scatter");
  const std::vector<Piece> part = pieces(reduce_scatter, reduce_scatter.counts(96, 1, 3), 2, 3, -1);
  ASSERT_EQ(part.size(), 1U);
  EXPECT_EQ(part[0].source, -1);
  EXPECT_EQ(part[0].first, 64U);

  const Collective& send_receive = find_collective("sendrecv");
  EXPECT_EQ(pieces(send_receive, send_receive.counts(8, 1, 3), 0, 3, -1)[0].source, 2);
  const Collective& broadcast = find_collective("broadcast");
  EXPECT_EQ(pieces(broadcast, broadcast.counts(8, 1, 3), 0, 3, 1)[0].source, 1);
}

TEST(Collective, AMisspeltNameComesWithTheNearest) {
  try {
    static_cast<void>(find_collective("allreduce"));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "there is no collective 'allreduce'; did you mean 'all_reduce'?");
  }
}

}  // namespace
}  // namespace ripieno::tool::perf

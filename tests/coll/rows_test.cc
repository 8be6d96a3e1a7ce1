// The rows of every collective, walked as a kernel walks them, against each collective's meaning
// written down once more.
#include "coll/rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace ripieno::coll {
namespace {

constexpr int kCount = 3;  ///< Elements of a block.

using Elements = std::vector<long>;

/// Buffers of all ranks, as many blocks long as the collective wants.
struct World {
  World(Function function, int ranks) {
    const Shape shape = shape_of(function);
    for (int rank = 0; rank < ranks; ++rank) {
      Elements elements(static_cast<std::size_t>(shape.blocks_in(ranks) * kCount));
      for (std::size_t index = 0; index < elements.size(); ++index) {
        elements[index] = 1000L * (rank + 1) + static_cast<long>(index);
      }
      send.push_back(std::move(elements));
      receive.emplace_back(static_cast<std::size_t>(shape.blocks_out(ranks) * kCount), -1);
    }
  }
  std::vector<Elements> send;
  std::vector<Elements> receive;
};

long& at(std::vector<Elements>& buffers, Place place, int element) {
  return buffers[static_cast<std::size_t>(place.rank)]
                [static_cast<std::size_t>(place.block * kCount + element)];
}

/// Reads everything that a row reads of an element before it writes.
void walk(Function function, int root, int ranks, std::vector<Elements>& send,
          std::vector<Elements>& receive) {
  const RowPlan plan = plan_rows(function, ranks);
  for (int row = 0; row < plan.rows; ++row) {
    for (int element = 0; element < kCount; ++element) {
      Elements values;
      long sum = 0;
      for (int input = 0; input < plan.inputs; ++input) {
        values.push_back(at(send, input_place(function, root, row, input), element));
        sum += values.back();
      }
      for (int output = 0; output < plan.outputs; ++output) {
        long& to = at(receive, output_place(function, root, row, output), element);
        to = plan.kind == RowKind::kReduce     ? sum
             : plan.kind == RowKind::kExchange ? values[static_cast<std::size_t>(output)]
                                               : values[0];
      }
    }
  }
}

/// What rank `to` finds in element `element` of block `block`.
long expected(Function function, int root, int ranks, int to, int block, int element) {
  const auto input = [&](int rank, int of_block) {
    return 1000L * (rank + 1) + of_block * kCount + element;
  };
  const auto sum = [&](int of_block) {
    long total = 0;
    for (int rank = 0; rank < ranks; ++rank) total += input(rank, of_block);
    return total;
  };
  switch (function) {
    case Function::kAllReduce:
      return sum(0);
    case Function::kReduce:
      return to == root ? sum(0) : -1;
    case Function::kReduceScatter:
      return sum(to);
    case Function::kBroadcast:
      return input(root, 0);
    case Function::kAllGather:
      return input(block, 0);
    case Function::kGather:
      return to == root ? input(block, 0) : -1;
    case Function::kScatter:
      return input(root, to);
    default:
      return input(block, to);
  }
}

constexpr Function kFunctions[] = {
    Function::kAllReduce, Function::kReduce, Function::kReduceScatter, Function::kBroadcast,
    Function::kAllGather, Function::kGather, Function::kScatter,       Function::kAlltoAll};

TEST(Rows, DoWhatTheCollectiveMeans) {
  for (const Function function : kFunctions) {
    for (int ranks = 1; ranks <= 6; ++ranks) {
      for (int root = 0; root < ranks; ++root) {
        World world(function, ranks);
        walk(function, root, ranks, world.send, world.receive);
        for (int to = 0; to < ranks; ++to) {
          const auto blocks = static_cast<int>(world.receive[static_cast<std::size_t>(to)].size());
          for (int index = 0; index < blocks; ++index) {
            EXPECT_EQ(world.receive[static_cast<std::size_t>(to)][static_cast<std::size_t>(index)],
                      expected(function, root, ranks, to, index / kCount, index % kCount))
                << function_name(function) << " of " << ranks << " ranks, root " << root
                << ", rank " << to << ", element " << index;
          }
        }
      }
    }
  }
}

TEST(Rows, WorkInPlace) {
  for (const Function function : {Function::kAllReduce, Function::kAlltoAll}) {
    for (int ranks = 1; ranks <= 6; ++ranks) {
      World apart(function, ranks);
      walk(function, 0, ranks, apart.send, apart.receive);
      World together(function, ranks);
      walk(function, 0, ranks, together.send, together.send);
      EXPECT_EQ(together.send, apart.receive) << function_name(function) << " of " << ranks;
    }
  }
}

TEST(Rows, PairEveryTwoRanksOnce) {
  constexpr int kRanks = 7;
  std::vector<int> met(kRanks * kRanks, 0);
  for (int row = 0; row < plan_rows(Function::kAlltoAll, kRanks).rows; ++row) {
    const Pair pair = pair_of_row(row);
    ASSERT_LE(pair.low, pair.high);
    ASSERT_LT(pair.high, kRanks);
    ++met[static_cast<std::size_t>(pair.low * kRanks + pair.high)];
  }
  for (int low = 0; low < kRanks; ++low) {
    for (int high = low; high < kRanks; ++high) {
      EXPECT_EQ(met[static_cast<std::size_t>(low * kRanks + high)], 1) << low << " and " << high;
    }
  }
}

}  // namespace
}  // namespace ripieno::coll

// Thresholds between one-shot and direct on host memory (figures: docs/benchmarks.md).
#include "tune/choice.h"

#include <algorithm>

#include "base/parameters.h"
#include "coll/host_algorithms.h"
#include "tune/tuner.h"

namespace ripieno::tune {
namespace {

constexpr SizeParameter kOneShotBytes{"RIPIENO_ONE_SHOT_BYTES"};
constexpr SizeParameter kInlineBytes{"RIPIENO_INLINE_BYTES"};

}  // namespace

Algorithm choose(const coll::Operation& operation, int ranks, const Tuner* tuner) {
  if (tuner != nullptr && tuner->steers()) {
    const bool fits = coll::input_bytes(operation, ranks) <= coll::kOneShotLimit;
    const Decision decision = tuner->decide(query_of(operation, ranks), fits);
    return decision.possible ? decision.algorithm : Algorithm::kDirect;
  }
  // One-shot saves a phase, and costs a copy of the input and, of every rank, a read of everybody's
  // input instead of its own share. Where ranks share cores the phase costs more, and so do the
  // reads: measured, the same limit fits 2 to 8 ranks.
  const auto limit = std::min(static_cast<std::size_t>(kOneShotBytes.value()), coll::kOneShotLimit);
  return coll::input_bytes(operation, ranks) <= limit ? Algorithm::kOneShot : Algorithm::kDirect;
}

bool may_run_inline(const coll::Operation& operation, int ranks) noexcept {
  const coll::Shape shape = coll::shape_of(operation.function);
  const auto blocks =
      static_cast<std::size_t>(std::max(shape.blocks_in(ranks), shape.blocks_out(ranks)));
  return operation.count * type_size(operation.type) * blocks <=
         static_cast<std::size_t>(kInlineBytes.value());
}

}  // namespace ripieno::tune

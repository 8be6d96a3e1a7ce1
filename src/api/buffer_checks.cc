// Where in place is, and what else overlaps.
#include "api/buffer_checks.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "base/parameters.h"

namespace ripieno::api {
namespace {

using coll::Operation;
using coll::Shape;

enum class CheckMode : std::uint8_t { kDefault, kLocal, kGlobal };
constexpr EnumParameter<CheckMode> kCheckMode{"NCCL_CHECK_MODE"};

/// Distance in blocks from the receive buffer to the send buffer of an operation in place: the side
/// with one block lies at the rank's own place in the side with many.
int in_place_distance(const Shape& shape, int rank) noexcept {
  if (shape.many_in == shape.many_out) {
    return 0;
  }
  return shape.many_out ? rank : -rank;
}

}  // namespace

void check_overlap(const Operation& operation, int rank, int ranks) {
  if (kCheckMode.value() == CheckMode::kDefault || coll::is_message(operation.function) ||
      operation.send == nullptr || operation.receive == nullptr) {
    return;
  }
  const Shape shape = coll::shape_of(operation.function);
  if (!shape.is_source(rank, operation.root) || !shape.is_sink(rank, operation.root)) {
    return;
  }
  const auto block = static_cast<std::ptrdiff_t>(operation.count * type_size(operation.type));
  const auto sent = block * shape.blocks_in(ranks);
  const auto received = block * shape.blocks_out(ranks);
  const std::ptrdiff_t distance = operation.send - operation.receive;
  const std::ptrdiff_t in_place = block * in_place_distance(shape, rank);
  const bool overlaps = distance < received && -distance < sent;
  if (overlaps && distance != in_place) {
    throw Error(
        ncclInvalidUsage,
        "sendbuff lies {} bytes from recvbuff and overlaps it; in place, rank {} of {} must "
        "pass sendbuff = recvbuff {} {} bytes",
        distance, rank, ranks, in_place < 0 ? '-' : '+', std::abs(in_place));
  }
}

}  // namespace ripieno::api

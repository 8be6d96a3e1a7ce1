// Small steps that every way of running a batch shares.
#include "plan/cuda/arrival.h"

#include <algorithm>

#include "base/error.h"
#include "coll/cuda/launch.h"
#include "device/cuda/errors.h"

namespace ripieno::plan::gpu {
namespace {

using coll::Function;
using coll::Operation;

}  // namespace

std::string describe_call(std::uint64_t count, std::uint64_t signature) {
  const auto function = static_cast<Function>(signature & 0xff);
  const auto type = static_cast<ncclDataType_t>(signature >> 8 & 0xff);
  const auto reduce = signature >> 16 & 0xff;
  return fmt::format(
      "{} ({} x {}{}{})", coll::function_name(function), count, type_name(type),
      reduce != 0 ? fmt::format(", {}", coll::reduce_name(static_cast<ReduceKind>(reduce - 1)))
                  : "",
      coll::has_root(function) ? fmt::format(", root {}", signature >> 32) : "");
}

unsigned long long capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  device::cuda::check(cudaStreamGetCaptureInfo(stream, &status, &id),
                      "asking a stream whether it is captured");
  return status == cudaStreamCaptureStatusActive ? id : 0;
}

coll::gpu::Buffers buffers_of(const Operation& operation) noexcept {
  return {operation.send, operation.receive, operation.scalar, operation.device_scalar};
}

std::vector<coll::gpu::Copy> take_own_messages(Arrival& arrival) {
  std::vector<coll::gpu::Copy> copies;
  std::vector<Operation> sends;
  std::vector<Operation> receives;
  std::erase_if(arrival.operations, [&](const Operation& operation) {
    if (!coll::is_message(operation.function) || operation.root != arrival.rank) return false;
    (operation.function == Function::kSend ? sends : receives).push_back(operation);
    return true;
  });
  if (sends.size() != receives.size()) {
    throw Error(ncclInvalidUsage,
                "rank {} sends {} and receives {} messages to and from itself in this group; a "
                "message to oneself needs its receive in the same group",
                arrival.rank, sends.size(), receives.size());
  }
  for (std::size_t index = 0; index < sends.size(); ++index) {
    const std::size_t sent = sends[index].count * type_size(sends[index].type);
    const std::size_t wanted = receives[index].count * type_size(receives[index].type);
    if (sent != wanted) {
      throw Error(ncclInvalidUsage, "rank {} sends itself {} bytes and receives {}", arrival.rank,
                  sent, wanted);
    }
    if (sent != 0 && sends[index].send != receives[index].receive) {
      copies.push_back({sends[index].send, receives[index].receive, sent});
    }
  }
  return copies;
}

void launch_copies(const std::vector<coll::gpu::Copy>& copies, cudaStream_t stream) {
  for (std::size_t first = 0; first < copies.size(); first += coll::gpu::kMostCopies) {
    coll::gpu::CopyList list{};
    std::uint64_t most = 0;
    const std::size_t end = std::min(copies.size(), first + coll::gpu::kMostCopies);
    for (std::size_t index = first; index < end; ++index) {
      list.copy[list.copies++] = copies[index];
      most = std::max(most, copies[index].bytes);
    }
    coll::gpu::launch(list, most, stream);
  }
}

void throw_disagreement(int rank, std::uint64_t count, std::uint64_t signature, int other,
                        std::uint64_t other_count, std::uint64_t other_signature) {
  throw Error(ncclInvalidUsage, "the ranks do not agree: rank {} calls {}, rank {} calls {}", rank,
              describe_call(count, signature), other, describe_call(other_count, other_signature));
}

}  // namespace ripieno::plan::gpu

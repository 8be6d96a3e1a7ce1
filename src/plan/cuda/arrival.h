// One rank's operations at one group end, on their way into a stream.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "coll/cuda/work.h"
#include "coll/operation.h"

namespace ripieno::plan::gpu {

struct Arrival {
  int rank = 0;
  int device = 0;
  cudaStream_t stream = nullptr;
  unsigned long long capture = 0;  ///< Id of the capture that the stream is in, 0 if in none.
  std::vector<coll::Operation> operations;
};

/// The id of the capture that `stream` is in; the stream's device must be current.
[[nodiscard]] unsigned long long capture_of(cudaStream_t stream);

/// A rank's buffers for `operation`, in its own addresses.
[[nodiscard]] coll::gpu::Buffers buffers_of(const coll::Operation& operation) noexcept;

/// Sends and receives of a batch that meet each other because the rank talks to itself. Takes them
/// out. Throws Error (ncclInvalidUsage) when they do not pair up.
[[nodiscard]] std::vector<coll::gpu::Copy> take_own_messages(Arrival& arrival);

/// Launches any number of copies.
void launch_copies(const std::vector<coll::gpu::Copy>& copies, cudaStream_t stream);

/// "AllReduce (1024 x float32, sum)", from what coll::gpu::signature_of() put together.
[[nodiscard]] std::string describe_call(std::uint64_t count, std::uint64_t signature);

/// Both sides of a disagreement. Throws Error (ncclInvalidUsage).
[[noreturn]] void throw_disagreement(int rank, std::uint64_t count, std::uint64_t signature,
                                     int other, std::uint64_t other_count,
                                     std::uint64_t other_signature);

}  // namespace ripieno::plan::gpu

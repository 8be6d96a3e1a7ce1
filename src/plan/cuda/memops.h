// Stream memory operations, collected and handed to a stream in few calls.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace ripieno::plan::gpu {

/// Addresses are those of the device.
class MemoryOps {
 public:
  void write(const std::uint32_t* word, std::uint32_t value);
  void write(const std::uint64_t* word, std::uint64_t value);
  /// The stream goes on when `word` equals `value`.
  void wait(const std::uint32_t* word, std::uint32_t value);
  /// Appends all of it to `stream` and forgets it. Throws Error.
  void flush(cudaStream_t stream);

 private:
  std::vector<CUstreamBatchMemOpParams> operations_;
};

}  // namespace ripieno::plan::gpu

// Batches of stream memory operations.
#include "plan/cuda/memops.h"

#include <algorithm>

#include "device/cuda/driver.h"
#include "device/cuda/errors.h"

namespace ripieno::plan::gpu {
namespace {

/// The driver takes no more in one call.
constexpr std::size_t kMostAtOnce = 250;

CUdeviceptr address(const void* word) noexcept {
  return reinterpret_cast<CUdeviceptr>(word);
}

}  // namespace

void MemoryOps::write(const std::uint32_t* word, std::uint32_t value) {
  CUstreamBatchMemOpParams& one = operations_.emplace_back();
  one = {};
  one.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  one.writeValue.address = address(word);
  one.writeValue.value = value;
}

void MemoryOps::write(const std::uint64_t* word, std::uint64_t value) {
  CUstreamBatchMemOpParams& one = operations_.emplace_back();
  one = {};
  one.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  one.writeValue.address = address(word);
  one.writeValue.value64 = value;
}

void MemoryOps::wait(const std::uint32_t* word, std::uint32_t value) {
  CUstreamBatchMemOpParams& one = operations_.emplace_back();
  one = {};
  one.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  one.waitValue.address = address(word);
  one.waitValue.value = value;
  one.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
}

void MemoryOps::flush(cudaStream_t stream) {
  for (std::size_t first = 0; first < operations_.size(); first += kMostAtOnce) {
    const std::size_t count = std::min(kMostAtOnce, operations_.size() - first);
    device::cuda::check(device::cuda::driver().batch_mem_op(stream, static_cast<unsigned>(count),
                                                            operations_.data() + first, 0),
                        "adding stream memory operations (cuStreamBatchMemOp)");
  }
  operations_.clear();
}

}  // namespace ripieno::plan::gpu

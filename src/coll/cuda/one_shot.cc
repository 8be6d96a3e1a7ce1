// Which operations go in one shot, and with how many blocks.
#include "coll/cuda/one_shot.h"

#include <algorithm>
#include <array>

#include "coll/cuda/launch.h"
#include "device/cuda/errors.h"

namespace ripieno::coll::gpu {
namespace {

constexpr std::uint64_t kWarp = 32;
constexpr std::uint64_t kMostBlocks = 16;

std::array<const void*, ncclNumTypes> functions() {
  return {one_shot_function<ncclInt8>(),       one_shot_function<ncclUint8>(),
          one_shot_function<ncclInt32>(),      one_shot_function<ncclUint32>(),
          one_shot_function<ncclInt64>(),      one_shot_function<ncclUint64>(),
          one_shot_function<ncclFloat16>(),    one_shot_function<ncclFloat32>(),
          one_shot_function<ncclFloat64>(),    one_shot_function<ncclBfloat16>(),
          one_shot_function<ncclFloat8e4m3>(), one_shot_function<ncclFloat8e5m2>()};
}

std::uint64_t units(std::uint64_t bytes) {
  return (bytes + kUnitBytes - 1) / kUnitBytes;
}

}  // namespace

bool fits_one_shot(const Operation& operation, int ranks) noexcept {
  const Shape shape = shape_of(operation.function);
  const std::uint64_t block = operation.count * type_size(operation.type);
  const auto in = static_cast<std::uint64_t>(shape.blocks_in(ranks));
  // An all-to-all in place must have read everything before it writes: one block of threads has.
  const std::uint64_t most =
      operation.function == Function::kAlltoAll ? kOneShotThreads * kUnitBytes : kOneShotBytes;
  const bool scaled = shape.reduces && operation.reduce == ReduceKind::kPreMulSum;
  const bool aligned = !shape.many_in || block % kUnitBytes == 0;
  return block != 0 && block <= most && block * in <= most && aligned && !scaled;
}

OneShotWork describe_one_shot(const Operation& operation, int ranks) {
  OneShotWork work{};
  work.function = operation.function;
  work.type = static_cast<std::uint8_t>(operation.type);
  work.reduce = static_cast<std::uint8_t>(operation.reduce);
  work.element_bytes = static_cast<std::uint8_t>(type_size(operation.type));
  work.ranks = ranks;
  work.root = operation.root;
  work.count = operation.count;
  work.signature = signature_of(operation);
  work.send = operation.send;
  work.receive = operation.receive;
  return work;
}

void launch(const OneShotWork& work, cudaStream_t stream) {
  static const std::array<const void*, ncclNumTypes> known = functions();
  const Shape shape = shape_of(work.function);
  const std::uint64_t per_block = units(work.count * work.element_bytes);
  const std::uint64_t most =
      per_block * static_cast<std::uint64_t>(std::max(
                      shape.blocks_in(work.ranks),
                      work.function == Function::kAlltoAll ? 1 : shape.blocks_out(work.ranks)));
  const std::uint64_t resident = multiprocessors() / static_cast<std::uint64_t>(work.ranks);
  const std::uint64_t wanted = (most + kOneShotThreads - 1) / kOneShotThreads;
  const std::uint64_t blocks =
      std::clamp<std::uint64_t>(wanted, 1, std::clamp<std::uint64_t>(resident, 1, kMostBlocks));
  const std::uint64_t threads = std::max(most, static_cast<std::uint64_t>(work.ranks));
  launch_function(known[work.type], blocks,
                  std::min<std::uint64_t>(kOneShotThreads, (threads + kWarp - 1) / kWarp * kWarp),
                  &work, stream, "launching a one-shot collective");
}

void load_one_shot_kernels() {
  for (const void* function : functions()) load_kernel(function);
}

}  // namespace ripieno::coll::gpu

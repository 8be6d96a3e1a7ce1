// Grid sizes: enough blocks to fill the device, tiles small enough that small operations use many
// multiprocessors and large ones seldom change rows.
#include "coll/cuda/launch.h"

#include <algorithm>
#include <array>

#include "coll/rows.h"
#include "device/cuda/errors.h"

namespace ripieno::coll::gpu {
namespace {

constexpr std::uint64_t kWarp = 32;
constexpr std::uint64_t kVectorsPerThread = 4;

constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

/// By ncclDataType_t.
std::array<const void*, ncclNumTypes> reduce_functions() {
  return {reduce_function<ncclInt8>(),       reduce_function<ncclUint8>(),
          reduce_function<ncclInt32>(),      reduce_function<ncclUint32>(),
          reduce_function<ncclInt64>(),      reduce_function<ncclUint64>(),
          reduce_function<ncclFloat16>(),    reduce_function<ncclFloat32>(),
          reduce_function<ncclFloat64>(),    reduce_function<ncclBfloat16>(),
          reduce_function<ncclFloat8e4m3>(), reduce_function<ncclFloat8e5m2>()};
}

const void* function_of(const Work& work) {
  static const std::array<const void*, ncclNumTypes> functions = reduce_functions();
  return shape_of(work.function).reduces ? functions[work.type] : move_function();
}

}  // namespace

std::uint64_t multiprocessors() {
  thread_local std::array<int, 64> known{};
  int device = 0;
  device::cuda::check(cudaGetDevice(&device), "asking for the current device");
  int& count = known[static_cast<std::size_t>(device) % known.size()];
  if (count == 0) {
    device::cuda::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
                        "asking for the number of multiprocessors");
  }
  return static_cast<std::uint64_t>(count);
}

void launch_function(const void* function, std::uint64_t blocks, std::uint64_t threads,
                     const void* argument, cudaStream_t stream, const char* what) {
  std::array<void*, 1> arguments = {const_cast<void*>(argument)};
  device::cuda::check(
      cudaLaunchKernel(function, dim3(static_cast<unsigned>(blocks)),
                       dim3(static_cast<unsigned>(threads)), arguments.data(), 0, stream),
      what);
}

void load_kernel(const void* function) {
  cudaFuncAttributes attributes{};
  device::cuda::check(cudaFuncGetAttributes(&attributes, function), "loading a kernel");
}

Work describe(const Operation& operation, int ranks) {
  Work work;
  work.function = operation.function;
  work.type = static_cast<std::uint8_t>(operation.type);
  work.reduce = static_cast<std::uint8_t>(operation.reduce);
  work.element_bytes = static_cast<std::uint8_t>(type_size(operation.type));
  work.ranks = ranks;
  work.root = operation.root;
  work.count = operation.count;
  work.part = 0;
  work.parts = 1;
  work.slots = nullptr;
  work.stopped = nullptr;
  work.fault = nullptr;
  work.flags = nullptr;
  work.finished = nullptr;
  work.leader = 0;
  work.signature = signature_of(operation);

  const std::uint64_t vectors =
      std::max<std::uint64_t>(1, divide_up(work.count * work.element_bytes, kVectorBytes));
  const auto rows = static_cast<std::uint64_t>(plan_rows(work.function, ranks).rows);
  const std::uint64_t full = multiprocessors() * kBlocksPerMultiprocessor * kThreads;
  const bool large = vectors * rows >= full * kVectorsPerThread * 2;
  work.vectors_per_tile =
      static_cast<std::uint32_t>(large ? kThreads * kVectorsPerThread : kThreads);
  work.tiles_per_row = static_cast<std::uint32_t>(divide_up(vectors, work.vectors_per_tile));
  return work;
}

int blocks_of(const Work& work) {
  const auto rows = static_cast<std::uint64_t>(plan_rows(work.function, work.ranks).rows);
  const std::uint64_t tiles = divide_up(rows * work.tiles_per_row, work.parts);
  return static_cast<int>(std::min(tiles, multiprocessors() * kBlocksPerMultiprocessor));
}

void launch(const Work& work, cudaStream_t stream) {
  const std::uint64_t vectors = divide_up(work.count * work.element_bytes, kVectorBytes);
  const std::uint64_t wanted = std::max(vectors + 1, static_cast<std::uint64_t>(work.ranks));
  const std::uint64_t threads = std::min<std::uint64_t>(kThreads, divide_up(wanted, kWarp) * kWarp);
  launch_function(function_of(work), static_cast<std::uint64_t>(blocks_of(work)), threads, &work,
                  stream, "launching a collective");
}

void launch(CopyList& list, std::uint64_t most_bytes, cudaStream_t stream) {
  if (list.copies == 0) return;
  const auto copies = static_cast<std::uint64_t>(list.copies);
  const std::uint64_t most = multiprocessors() * kBlocksPerMultiprocessor;
  const std::uint64_t wanted = divide_up(most_bytes, kThreads * kVectorBytes);
  list.tiles_per_copy =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, divide_up(most, copies)));
  launch_function(copy_function(), copies * list.tiles_per_copy, kThreads, &list, stream,
                  "launching copies");
}

void launch_look(CopyList& list, const std::uint32_t* stopped, PostedMessage* near,
                 cudaStream_t stream) {
  Look look{};
  look.copies = list.copies;
  look.stopped = stopped;
  look.near = near;
  std::copy_n(list.posted, list.copies, look.posted);
  launch_function(look_function(), 1, static_cast<std::uint64_t>(kMostCopies), &look, stream,
                  "launching a look at messages");
  for (int index = 0; index < list.copies; ++index) list.posted[index] = near + index;
}

void load_kernels() {
  for (const void* function : reduce_functions()) load_kernel(function);
  load_kernel(move_function());
  load_kernel(copy_function());
  load_kernel(look_function());
}

}  // namespace ripieno::coll::gpu

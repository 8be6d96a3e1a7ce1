// Allocation and guard zones.
#include "perf/buffer.h"

#include <algorithm>
#include <array>

#include "perf/failure.h"

namespace ripieno::tool::perf {
namespace {

std::byte* allocate(device::Device& device, std::size_t bytes, Source source) {
  if (source == Source::kDevice) return static_cast<std::byte*>(device.allocate(bytes));
  void* pointer = nullptr;
  check(ncclMemAlloc(&pointer, bytes), "allocating a buffer with ncclMemAlloc");
  return static_cast<std::byte*>(pointer);
}

}  // namespace

Buffer::Buffer(device::Device& device, std::size_t bytes, Source source)
    : device_(device),
      bytes_(bytes),
      source_(source),
      whole_(allocate(device, whole_bytes(), source)) {}

Buffer::~Buffer() {
  try {
    if (source_ == Source::kDevice) device_.release(whole_);
    if (source_ == Source::kLibrary) check(ncclMemFree(whole_), "freeing a buffer");
  } catch (const std::exception&) {
    // The measurement is over; what is left goes with the process.
  }
}

void Buffer::poison_guards(std::size_t used, cudaStream_t stream) {
  device_.fill(whole_, kPoison, kGuard, stream);
  device_.fill(data() + used, kPoison, kGuard, stream);
}

std::uint64_t Buffer::damaged_guard_bytes(std::size_t used, cudaStream_t stream) {
  return damaged(whole_, stream) + damaged(data() + used, stream);
}

std::uint64_t Buffer::damaged(const std::byte* zone, cudaStream_t stream) {
  std::array<std::byte, kGuard> copy;
  device_.copy(copy.data(), zone, kGuard, stream);
  device_.synchronize(stream);
  return static_cast<std::uint64_t>(kGuard - std::ranges::count(copy, kPoison));
}

}  // namespace ripieno::tool::perf

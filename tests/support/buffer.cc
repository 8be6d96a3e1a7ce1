// Layout: guard, data, guard; the first guard takes the shift.
#include "support/buffer.h"

#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "support/check.h"
#include "support/gpu.h"

namespace ripieno::test {
namespace {

constexpr std::size_t kGuardBytes = 128;
constexpr std::byte kGuard{0x3C};

}  // namespace

Buffer::Buffer(MemoryKind kind, std::size_t bytes, cudaStream_t stream, std::size_t shift)
    // A GPU reaches no memory of malloc.
    : kind_(kOnGpu && kind == MemoryKind::kHeap ? MemoryKind::kDevice : kind),
      bytes_(bytes),
      shift_(shift),
      stream_(stream) {
  const std::size_t whole = bytes + shift + 2 * kGuardBytes;
  void* memory = nullptr;
  switch (kind_) {
    case MemoryKind::kDevice:
      check(cudaMalloc(&memory, whole));
      break;
    case MemoryKind::kNccl:
      check(ncclMemAlloc(&memory, whole));
      break;
    case MemoryKind::kHeap:
      memory = std::malloc(whole);
      if (memory == nullptr) {
        throw std::bad_alloc();
      }
      break;
  }
  memory_ = static_cast<std::byte*>(memory);
  poison();
}

Buffer::Buffer(Buffer&& other) noexcept
    : kind_(other.kind_),
      bytes_(other.bytes_),
      shift_(other.shift_),
      stream_(other.stream_),
      memory_(std::exchange(other.memory_, nullptr)) {}

Buffer::~Buffer() {
  if (memory_ == nullptr) {
    return;
  }
  switch (kind_) {
    case MemoryKind::kDevice:
      // In stream order: cudaFree() waits for the whole device, so for ranks of other threads that
      // share it, and those may wait for this rank's next operation.
      cudaFreeAsync(memory_, stream_);
      break;
    case MemoryKind::kNccl:
      ncclMemFree(memory_);
      break;
    case MemoryKind::kHeap:
      std::free(memory_);
      break;
  }
}

std::byte* Buffer::data() const noexcept {
  return memory_ + kGuardBytes + shift_;
}

void Buffer::poison() {
  std::vector<std::byte> image(bytes_ + shift_ + 2 * kGuardBytes, kGuard);
  std::fill_n(image.begin() + static_cast<std::ptrdiff_t>(kGuardBytes + shift_), bytes_, kPoison);
  check(cudaMemcpyAsync(memory_, image.data(), image.size(), cudaMemcpyDefault, stream_));
  check(cudaStreamSynchronize(stream_));
}

void Buffer::upload(std::span<const std::byte> bytes, std::size_t offset) {
  check(cudaMemcpyAsync(data() + offset, bytes.data(), bytes.size(), cudaMemcpyDefault, stream_));
  check(cudaStreamSynchronize(stream_));
}

std::vector<std::byte> Buffer::download() const {
  std::vector<std::byte> bytes(bytes_);
  check(cudaMemcpyAsync(bytes.data(), data(), bytes_, cudaMemcpyDefault, stream_));
  check(cudaStreamSynchronize(stream_));
  return bytes;
}

void Buffer::expect_guards_intact(const std::string& what) const {
  std::vector<std::byte> image(bytes_ + shift_ + 2 * kGuardBytes);
  check(cudaMemcpyAsync(image.data(), memory_, image.size(), cudaMemcpyDefault, stream_));
  check(cudaStreamSynchronize(stream_));
  const auto is_guard = [](std::byte value) { return value == kGuard; };
  const auto data_begin = image.begin() + static_cast<std::ptrdiff_t>(kGuardBytes + shift_);
  const auto data_end = data_begin + static_cast<std::ptrdiff_t>(bytes_);
  EXPECT_TRUE(std::all_of(image.begin(), data_begin, is_guard)) << "bytes before " << what;
  EXPECT_TRUE(std::all_of(data_end, image.end(), is_guard)) << "bytes behind " << what;
}

void Buffer::copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace ripieno::test

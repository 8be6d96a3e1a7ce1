// Device, host and managed memory: allocation, errors, giving pages back, copies and fills, what a
// pointer is.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "hostrt/support.h"

namespace ripieno::hostrt {
namespace {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) { EXPECT_CUDA(cuda::cudaMalloc(&pointer_, bytes)); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { EXPECT_CUDA(cuda::cudaFree(pointer_)); }
  [[nodiscard]] unsigned char* bytes() const { return static_cast<unsigned char*>(pointer_); }

 private:
  void* pointer_ = nullptr;
};

std::vector<unsigned char> random_bytes(std::size_t count) {
  std::mt19937 random(42);
  std::vector<unsigned char> bytes(count);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<unsigned char>(random()); });
  return bytes;
}

TEST(Memory, LiesInTheArena) {
  DeviceMemory memory(1000);
  const auto range = arena();
  ASSERT_FALSE(range.empty());
  const auto offset = arena_offset(memory.bytes() + 10);
  ASSERT_TRUE(offset);
  EXPECT_EQ(reinterpret_cast<std::byte*>(memory.bytes()) + 10, range.data() + *offset);
  int local = 0;
  EXPECT_FALSE(arena_offset(&local));
  EXPECT_FALSE(arena_offset(nullptr));
}

TEST(Memory, IsAligned) {
  DeviceMemory small(1);
  DeviceMemory large(64 * 1024);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.bytes()) % 256, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.bytes()) % 4096, 0U);
}

TEST(Memory, ZeroBytesAreANullPointer) {
  void* pointer = &pointer;
  EXPECT_CUDA(cuda::cudaMalloc(&pointer, 0));
  EXPECT_EQ(pointer, nullptr);
  EXPECT_CUDA(cuda::cudaFree(nullptr));
}

TEST(Memory, TooMuchFailsAtOnceAndCleanly) {
  std::size_t total = 0;
  ASSERT_CUDA(cuda::cudaMemGetInfo(nullptr, &total));
  void* pointer = nullptr;
  EXPECT_EQ(cudaErrorMemoryAllocation, cuda::cudaMalloc(&pointer, total + 4096));
  EXPECT_EQ(cudaErrorMemoryAllocation, cuda::cudaMalloc(&pointer, SIZE_MAX));
  EXPECT_EQ(cudaErrorMemoryAllocation, cuda::cudaGetLastError());
  EXPECT_THROW(static_cast<void>(allocate(0, total + 4096)), RuntimeError);
  // The sum counts, over all devices.
  ASSERT_CUDA(cuda::cudaMalloc(&pointer, total / 2));
  ASSERT_CUDA(cuda::cudaSetDevice(1));
  void* other = nullptr;
  EXPECT_EQ(cudaErrorMemoryAllocation, cuda::cudaMalloc(&other, total / 2 + total / 4));
  ASSERT_CUDA(cuda::cudaSetDevice(0));
  EXPECT_CUDA(cuda::cudaFree(pointer));
}

TEST(Memory, DoubleFreeAndForeignPointersAreErrors) {
  void* pointer = nullptr;
  ASSERT_CUDA(cuda::cudaMalloc(&pointer, 100'000));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaFree(static_cast<char*>(pointer) + 256));
  EXPECT_CUDA(cuda::cudaFree(pointer));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaFree(pointer));
  int local = 0;
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaFree(&local));
  EXPECT_THROW(release(&local), RuntimeError);
}

TEST(Memory, FreedPagesGoBackToTheSystem) {
  // A page given back reads as zero when it is handed out again.
  constexpr std::size_t kBytes = 8U << 20;
  void* pointer = nullptr;
  ASSERT_CUDA(cuda::cudaMalloc(&pointer, kBytes));
  std::memset(pointer, 0xab, kBytes);
  ASSERT_CUDA(cuda::cudaFree(pointer));
  void* again = nullptr;
  ASSERT_CUDA(cuda::cudaMalloc(&again, kBytes));
  const auto* bytes = static_cast<const unsigned char*>(again);
  EXPECT_TRUE(std::all_of(bytes, bytes + kBytes, [](unsigned char byte) { return byte == 0; }));
  ASSERT_CUDA(cuda::cudaFree(again));
}

TEST(Memory, PagesSharedBySmallBlocksGoBackWithTheLast) {
  // Sixteen blocks of 256 bytes fill a page; the survivors' bytes must outlive the freeing of
  // others.
  std::vector<unsigned char*> blocks;
  for (unsigned char mark = 0; mark < 64; ++mark) {
    auto* block = static_cast<unsigned char*>(allocate(0, 256));
    std::memset(block, mark + 1, 256);
    blocks.push_back(block);
  }
  for (std::size_t index = 0; index < blocks.size(); index += 2) release(blocks[index]);
  for (std::size_t index = 1; index < blocks.size(); index += 2) {
    EXPECT_TRUE(std::all_of(blocks[index], blocks[index] + 256,
                            [&](unsigned char byte) { return byte == index + 1; }));
    release(blocks[index]);
  }
}

TEST(Memory, FreeWaitsForTheDevice) {
  OwnedStream stream;
  Gate gate;
  std::atomic<bool> used{false};
  void* pointer = nullptr;
  ASSERT_CUDA(cuda::cudaMalloc(&pointer, 4096));
  submit(stream, gate_task(gate));
  submit(stream, make_task({.act = [&] {
           *static_cast<char*>(pointer) = 1;
           used.store(true);
         }}));
  std::thread opener([&] { gate.open(); });
  EXPECT_CUDA(cuda::cudaFree(pointer));
  EXPECT_TRUE(used.load());
  opener.join();
}

TEST(Memory, AllocatesAndFreesInStreamOrder) {
  OwnedStream stream;
  Gate gate;
  void* pointer = nullptr;
  ASSERT_CUDA(cuda::cudaMallocAsync(&pointer, 1 << 20, stream));
  submit(stream, gate_task(gate));
  ASSERT_CUDA(cuda::cudaMemsetAsync(pointer, 7, 1 << 20, stream));
  EXPECT_CUDA(cuda::cudaFreeAsync(pointer, stream));
  cudaPointerAttributes attributes{};
  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, pointer));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  gate.open();
  stream.synchronize();
  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, pointer));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaFreeAsync(pointer, stream));
}

TEST(Memory, ManyThreadsAllocateAndFree) {
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      std::mt19937 random(thread);
      std::vector<std::pair<unsigned char*, std::size_t>> mine;
      for (int step = 0; step < 400; ++step) {
        if (mine.size() < 20 && random() % 3 != 0) {
          const std::size_t bytes = 1 + random() % 200'000;
          auto* block = static_cast<unsigned char*>(allocate(0, bytes));
          std::memset(block, static_cast<int>(thread + 1), bytes);
          mine.emplace_back(block, bytes);
        } else if (!mine.empty()) {
          const auto [block, bytes] = mine.back();
          mine.pop_back();
          ASSERT_EQ(block[0], thread + 1);
          ASSERT_EQ(block[bytes - 1], thread + 1);
          release(block);
        }
      }
      for (const auto& [block, bytes] : mine) release(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- Pointers ----

TEST(Pointer, TellsItsKind) {
  ASSERT_CUDA(cuda::cudaSetDevice(2));
  DeviceMemory device(100);
  ASSERT_CUDA(cuda::cudaSetDevice(0));
  void* host = nullptr;
  void* managed = nullptr;
  ASSERT_CUDA(cuda::cudaMallocHost(&host, 100));
  ASSERT_CUDA(cuda::cudaMallocManaged(&managed, 100, cudaMemAttachGlobal));
  std::vector<char> plain(100);
  cudaPointerAttributes attributes{};

  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, device.bytes() + 50));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 2);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  EXPECT_EQ(attributes.devicePointer, device.bytes() + 50);
  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, host));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, host);
  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, managed));
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, plain.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);

  EXPECT_CUDA(cuda::cudaFreeHost(host));
  EXPECT_CUDA(cuda::cudaFree(managed));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaFreeHost(device.bytes()));
}

TEST(HostMemory, IsRegisteredOnce) {
  std::vector<char> plain(8192);
  void* mapped = nullptr;
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaHostGetDevicePointer(&mapped, plain.data(), 0));
  ASSERT_CUDA(cuda::cudaHostRegister(plain.data(), 4096, cudaHostRegisterPortable));
  EXPECT_EQ(cudaErrorHostMemoryAlreadyRegistered, cuda::cudaHostRegister(plain.data() + 100, 8, 0));
  EXPECT_EQ(cudaErrorHostMemoryAlreadyRegistered, cuda::cudaHostRegister(plain.data(), 8192, 0));
  EXPECT_CUDA(cuda::cudaHostRegister(plain.data() + 4096, 4096, 0));
  EXPECT_CUDA(cuda::cudaHostGetDevicePointer(&mapped, plain.data() + 5, 0));
  EXPECT_EQ(mapped, plain.data() + 5);
  unsigned flags = 0;
  EXPECT_CUDA(cuda::cudaHostGetFlags(&flags, plain.data()));
  EXPECT_NE(flags & cudaHostRegisterPortable, 0U);
  cudaPointerAttributes attributes{};
  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, plain.data() + 4095));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_CUDA(cuda::cudaHostUnregister(plain.data()));
  EXPECT_EQ(cudaErrorHostMemoryNotRegistered, cuda::cudaHostUnregister(plain.data()));
  EXPECT_CUDA(cuda::cudaHostUnregister(plain.data() + 4096));
}

// ---- Copies and fills ----

class CopySize : public testing::TestWithParam<std::size_t> {};

TEST_P(CopySize, GoesThereAndBack) {
  const std::size_t bytes = GetParam();
  const auto source = random_bytes(bytes);
  std::vector<unsigned char> result(bytes, 0);
  DeviceMemory first(bytes);
  DeviceMemory second(bytes);
  OwnedStream stream;
  EXPECT_CUDA(
      cuda::cudaMemcpyAsync(first.bytes(), source.data(), bytes, cudaMemcpyHostToDevice, stream));
  EXPECT_CUDA(cuda::cudaMemcpyAsync(second.bytes(), first.bytes(), bytes, cudaMemcpyDeviceToDevice,
                                    stream));
  EXPECT_CUDA(
      cuda::cudaMemcpyAsync(result.data(), second.bytes(), bytes, cudaMemcpyDeviceToHost, stream));
  stream.synchronize();
  EXPECT_EQ(result, source);
  std::fill(result.begin(), result.end(), 0);
  EXPECT_CUDA(cuda::cudaMemcpy(result.data(), first.bytes(), bytes, cudaMemcpyDefault));
  EXPECT_EQ(result, source);
}

INSTANTIATE_TEST_SUITE_P(Sizes, CopySize,
                         testing::Values(1, 1000, 64 * 1024, 64 * 1024 + 1, 3'000'000));

TEST(Copy, SourceInOrdinaryMemoryMayBeReusedOnReturn) {
  // Even while the stream is busy: the copy has taken what it needs.
  OwnedStream stream;
  Gate gate;
  DeviceMemory memory(1000);
  std::vector<unsigned char> source(1000, 5);
  submit(stream, gate_task(gate));
  EXPECT_CUDA(
      cuda::cudaMemcpyAsync(memory.bytes(), source.data(), 1000, cudaMemcpyHostToDevice, stream));
  std::fill(source.begin(), source.end(), 9);
  gate.open();
  stream.synchronize();
  EXPECT_EQ(memory.bytes()[999], 5);
}

TEST(Copy, ToOrdinaryMemoryIsCompleteOnReturn) {
  OwnedStream stream;
  Gate gate;
  DeviceMemory memory(500'000);
  std::vector<unsigned char> result(500'000, 0);
  ASSERT_CUDA(cuda::cudaMemset(memory.bytes(), 3, 500'000));
  submit(stream, gate_task(gate));
  std::thread opener([&] { gate.open(); });
  EXPECT_CUDA(cuda::cudaMemcpyAsync(result.data(), memory.bytes(), 500'000, cudaMemcpyDeviceToHost,
                                    stream));
  EXPECT_EQ(result[499'999], 3);
  opener.join();
}

TEST(Copy, ChecksItsArguments) {
  DeviceMemory memory(100);
  EXPECT_EQ(cudaErrorInvalidMemcpyDirection,
            cuda::cudaMemcpy(memory.bytes(), memory.bytes(), 4, static_cast<cudaMemcpyKind>(9)));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaMemcpy(nullptr, memory.bytes(), 4, cudaMemcpyDefault));
  EXPECT_CUDA(cuda::cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
  EXPECT_EQ(cudaErrorInvalidPitchValue,
            cuda::cudaMemcpy2D(memory.bytes(), 4, memory.bytes(), 8, 8, 2, cudaMemcpyDefault));
  EXPECT_EQ(cudaErrorInvalidDevice,
            cuda::cudaMemcpyPeer(memory.bytes(), 999, memory.bytes(), 0, 4));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaMemset(nullptr, 0, 4));
}

TEST(Copy, MovesRowsAndLayers) {
  constexpr std::size_t kWidth = 5;
  constexpr std::size_t kHeight = 4;
  std::size_t pitch = 0;
  void* memory = nullptr;
  ASSERT_CUDA(cuda::cudaMallocPitch(&memory, &pitch, kWidth, kHeight));
  ASSERT_GE(pitch, kWidth);
  std::vector<unsigned char> source(kWidth * kHeight);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  EXPECT_CUDA(cuda::cudaMemcpy2D(memory, pitch, source.data(), kWidth, kWidth, kHeight,
                                 cudaMemcpyHostToDevice));
  const auto* bytes = static_cast<const unsigned char*>(memory);
  for (std::size_t row = 0; row < kHeight; ++row) {
    for (std::size_t column = 0; column < kWidth; ++column) {
      EXPECT_EQ(bytes[row * pitch + column], source[row * kWidth + column]);
    }
  }
  // The middle 3 x 2 of both layers of a 5 x 2 x 2 volume.
  cudaMemcpy3DParms box{};
  std::vector<unsigned char> volume(12, 0);
  box.srcPtr = {source.data(), kWidth, kWidth, 2};
  box.srcPos = {1, 0, 0};
  box.dstPtr = {volume.data(), 3, 3, 2};
  box.extent = {3, 2, 2};
  box.kind = cudaMemcpyHostToHost;
  EXPECT_CUDA(cuda::cudaMemcpy3D(&box));
  EXPECT_EQ(volume, (std::vector<unsigned char>{2, 3, 4, 7, 8, 9, 12, 13, 14, 17, 18, 19}));
  EXPECT_CUDA(cuda::cudaMemset2D(memory, pitch, 0x55, kWidth, 2));
  EXPECT_EQ(bytes[pitch + kWidth - 1], 0x55);
  EXPECT_EQ(bytes[2 * pitch], source[2 * kWidth]);
  EXPECT_CUDA(cuda::cudaFree(memory));
}

// ---- Pools ----

TEST(Pool, HasAttributesAndADefaultPerDevice) {
  cudaMemPool_t first = nullptr;
  cudaMemPool_t second = nullptr;
  ASSERT_CUDA(cuda::cudaDeviceGetDefaultMemPool(&first, 0));
  ASSERT_CUDA(cuda::cudaDeviceGetDefaultMemPool(&second, 1));
  EXPECT_NE(first, second);
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaMemPoolDestroy(first));
  std::uint64_t threshold = 12345;
  EXPECT_CUDA(cuda::cudaMemPoolSetAttribute(first, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  EXPECT_CUDA(cuda::cudaMemPoolGetAttribute(first, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_EQ(threshold, 12345U);

  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 1};
  cudaMemPool_t own = nullptr;
  ASSERT_CUDA(cuda::cudaMemPoolCreate(&own, &properties));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaDeviceSetMemPool(0, own));
  EXPECT_CUDA(cuda::cudaDeviceSetMemPool(1, own));
  OwnedStream stream;
  void* pointer = nullptr;
  ASSERT_CUDA(cuda::cudaMallocFromPoolAsync(&pointer, 100, own, stream));
  cudaPointerAttributes attributes{};
  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, pointer));
  EXPECT_EQ(attributes.device, 1);
  EXPECT_CUDA(cuda::cudaFreeAsync(pointer, stream));
  EXPECT_CUDA(cuda::cudaMemPoolDestroy(own));
  cudaMemPool_t current = nullptr;
  EXPECT_CUDA(cuda::cudaDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current, second);
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaMemPoolDestroy(own));
}

}  // namespace
}  // namespace ripieno::hostrt

// Memory for a rank's data: of a chosen kind, starting where a test wants, with guard words on both
// sides. It is reached through copies in the rank's stream, as a program would reach device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ripieno::test {

enum class MemoryKind {
  kDevice,  ///< cudaMalloc
  kHeap,    ///< malloc: peers in other processes cannot map it
  kNccl,    ///< ncclMemAlloc
};

/// What outputs hold before an operation writes them.
inline constexpr std::byte kPoison{0xA5};

class Buffer {
 public:
  /// Room for `bytes` bytes at `shift` bytes past an aligned address, on the current device. Copies
  /// run in `stream`.
  Buffer(MemoryKind kind, std::size_t bytes, cudaStream_t stream, std::size_t shift = 0);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&&) = delete;

  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

  /// Poisons all of it and renews the guards.
  void poison();
  void upload(std::span<const std::byte> bytes, std::size_t offset = 0);
  template <typename T>
  void upload(const std::vector<T>& values, std::size_t offset = 0) {
    upload(std::as_bytes(std::span(values)), offset);
  }
  [[nodiscard]] std::vector<std::byte> download() const;
  template <typename T>
  [[nodiscard]] std::vector<T> download_as() const {
    const std::vector<std::byte> bytes = download();
    std::vector<T> values(bytes.size() / sizeof(T));
    copy_bytes(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  /// Fails the test if a guard word has changed.
  void expect_guards_intact(const std::string& what) const;

 private:
  static void copy_bytes(void* to, const void* from, std::size_t bytes);

  MemoryKind kind_;
  std::size_t bytes_;
  std::size_t shift_;
  cudaStream_t stream_;
  std::byte* memory_ = nullptr;
};

/// A buffer that holds `values`.
template <typename T>
Buffer buffer_of(const std::vector<T>& values, cudaStream_t stream,
                 MemoryKind kind = MemoryKind::kDevice) {
  Buffer buffer(kind, values.size() * sizeof(T), stream);
  buffer.upload(values);
  return buffer;
}

}  // namespace ripieno::test

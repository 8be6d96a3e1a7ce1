// Device memory of one rank, with guard zones on both sides that tell whether somebody wrote past
// the data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.h"

namespace ripieno::tool::perf {

/// Where the memory comes from.
enum class Source { kDevice, kLibrary };  // kLibrary: ncclMemAlloc, which windows need.

class Buffer {
 public:
  static constexpr std::size_t kGuard = 4096;
  static constexpr std::byte kPoison{0xDB};

  /// The device must be the calling thread's current one.
  Buffer(device::Device& device, std::size_t bytes, Source source);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::byte* data() const noexcept { return whole_ + kGuard; }
  /// Everything, guards included.
  [[nodiscard]] std::byte* whole() const noexcept { return whole_; }
  [[nodiscard]] std::size_t whole_bytes() const noexcept { return bytes_ + 2 * kGuard; }

  /// Poisons the zones before and after the first `used` bytes.
  void poison_guards(std::size_t used, cudaStream_t stream);
  /// Bytes of those zones that have changed since. Waits for the stream.
  [[nodiscard]] std::uint64_t damaged_guard_bytes(std::size_t used, cudaStream_t stream);

 private:
  [[nodiscard]] std::uint64_t damaged(const std::byte* zone, cudaStream_t stream);

  device::Device& device_;
  std::size_t bytes_;
  Source source_;
  std::byte* whole_;
};

}  // namespace ripieno::tool::perf

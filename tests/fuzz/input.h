// Takes values off the bytes that a fuzzer makes up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

namespace ripieno::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) noexcept
      : rest_(reinterpret_cast<const std::byte*>(data), size) {}

  /// Zero when nothing is left.
  [[nodiscard]] std::uint8_t byte() noexcept {
    std::uint8_t value = 0;
    take(&value, 1);
    return value;
  }
  void take(void* to, std::size_t bytes) noexcept {
    const std::size_t there = std::min(bytes, rest_.size());
    if (there > 0) {
      std::memcpy(to, rest_.data(), there);
    }
    rest_ = rest_.subspan(there);
  }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(rest_.data()), rest_.size()};
  }

 private:
  std::span<const std::byte> rest_;
};

/// What must hold for any input.
inline void demand(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace ripieno::fuzz

// Writing and reading the fields of messages: little-endian numbers and length-prefixed texts. The
// reader never goes past its span; what does not fit turns it bad, and a bad reader reads zeros.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ripieno::bootstrap {

class ByteWriter {
 public:
  template <std::unsigned_integral Number>
  void number(Number value) {
    for (std::size_t byte = 0; byte < sizeof(Number); ++byte) {
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * byte)));
    }
  }
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// At most 65535 bytes; longer ones are cut.
  void text(std::string_view text) {
    text = text.substr(0, 0xffff);
    number(static_cast<std::uint16_t>(text.size()));
    raw(std::as_bytes(std::span(text.data(), text.size())));
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::vector<std::byte> take() noexcept { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  template <std::unsigned_integral Number>
  [[nodiscard]] Number number() noexcept {
    std::uint64_t value = 0;
    const auto field = raw(sizeof(Number));
    for (std::size_t byte = 0; byte < field.size(); ++byte) {
      value |= std::to_integer<std::uint64_t>(field[byte]) << (8 * byte);
    }
    return static_cast<Number>(value);
  }
  /// The next `count` bytes, or none and a bad reader.
  [[nodiscard]] std::span<const std::byte> raw(std::size_t count) noexcept {
    if (count > rest_.size()) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const auto field = rest_.first(count);
    rest_ = rest_.subspan(count);
    return field;
  }
  template <typename Element, std::size_t kCount>
  void array(std::array<Element, kCount>& to) noexcept {
    static_assert(sizeof(Element) == 1);
    const auto field = raw(kCount);
    if (!field.empty()) std::memcpy(to.data(), field.data(), kCount);
  }
  [[nodiscard]] std::string text() {
    const auto field = raw(number<std::uint16_t>());
    return {reinterpret_cast<const char*>(field.data()), field.size()};
  }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }
  [[nodiscard]] bool good() const noexcept { return good_; }
  /// Good, and nothing left.
  [[nodiscard]] bool complete() const noexcept { return good_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool good_ = true;
};

}  // namespace ripieno::bootstrap

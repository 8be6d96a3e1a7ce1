// What the library chooses among: algorithms and protocols, numbered as NCCL's plugins number
// theirs, with our own behind them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "coll/operation.h"

namespace ripieno::tune {

enum class Algorithm : std::uint8_t {
  kTree = 0,
  kRing = 1,
  kCollnetDirect = 2,
  kCollnetChain = 3,
  kNvls = 4,
  kNvlsTree = 5,
  kPat = 6,
  kDirect = 7,   ///< Ours: owners of slices read and write all ranks' buffers.
  kOneShot = 8,  ///< Ours: every rank reads every input.
};
inline constexpr std::size_t kAlgorithms = 9;
/// How many of them NCCL and its plugins know.
inline constexpr std::size_t kPluginAlgorithms = 7;

enum class Protocol : std::uint8_t { kLl = 0, kLl128 = 1, kSimple = 2 };
inline constexpr std::size_t kProtocols = 3;

/// Functions by number, with gaps (coll::Function).
inline constexpr std::size_t kFunctions = 11;
/// The functions that the cost model knows.
inline constexpr std::array kCollectives = {
    coll::Function::kAllReduce, coll::Function::kAllGather, coll::Function::kReduceScatter,
    coll::Function::kBroadcast, coll::Function::kReduce,    coll::Function::kAlltoAll,
    coll::Function::kScatter,   coll::Function::kGather};

[[nodiscard]] constexpr Algorithm algorithm_at(std::size_t index) noexcept {
  return static_cast<Algorithm>(index);
}
[[nodiscard]] constexpr Protocol protocol_at(std::size_t index) noexcept {
  return static_cast<Protocol>(index);
}
[[nodiscard]] constexpr std::size_t index_of(Algorithm algorithm) noexcept {
  return static_cast<std::size_t>(algorithm);
}
[[nodiscard]] constexpr std::size_t index_of(Protocol protocol) noexcept {
  return static_cast<std::size_t>(protocol);
}
[[nodiscard]] constexpr std::size_t index_of(coll::Function function) noexcept {
  return static_cast<std::size_t>(function);
}

/// "Ring", "LL128": as users write them.
[[nodiscard]] std::string_view algorithm_name(Algorithm algorithm) noexcept;
[[nodiscard]] std::string_view protocol_name(Protocol protocol) noexcept;
/// The reverse, in any case.
[[nodiscard]] std::optional<Algorithm> parse_algorithm(std::string_view text) noexcept;
[[nodiscard]] std::optional<Protocol> parse_protocol(std::string_view text) noexcept;
[[nodiscard]] std::optional<coll::Function> parse_function(std::string_view text) noexcept;

/// One value for every algorithm and protocol.
template <typename Value>
class Cells {
 public:
  constexpr Cells() = default;
  constexpr explicit Cells(Value value) {
    for (auto& row : values_) row.fill(value);
  }
  [[nodiscard]] constexpr Value& at(Algorithm algorithm, Protocol protocol) noexcept {
    return values_[index_of(algorithm)][index_of(protocol)];
  }
  [[nodiscard]] constexpr const Value& at(Algorithm algorithm, Protocol protocol) const noexcept {
    return values_[index_of(algorithm)][index_of(protocol)];
  }
  /// Row by row: what plugins see.
  [[nodiscard]] constexpr auto& rows() noexcept { return values_; }
  [[nodiscard]] constexpr const auto& rows() const noexcept { return values_; }

 private:
  std::array<std::array<Value, kProtocols>, kAlgorithms> values_{};
};

/// Predicted microseconds; kNotAvailable where a cell cannot run.
using CostTable = Cells<float>;
inline constexpr float kNotAvailable = -1.0F;

}  // namespace ripieno::tune

// One row of the parameter table, and small constructors that keep the table readable.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace ripieno {

enum class ParameterKind : std::uint8_t {
  kInteger,  ///< decimal, 0x hexadecimal or 0 octal
  kBoolean,  ///< 0 or 1, also false/true, no/yes, off/on
  kSize,     ///< bytes, with an optional suffix K, M or G (powers of 1024)
  kSeconds,  ///< whole seconds
  kChoice,   ///< one of `choices`, in any case
  kText,     ///< anything; empty is the same as unset
};

enum class ParameterGroup : std::uint8_t {
  kLog,
  kBootstrap,
  kCommunicator,
  kDevice,
  kDiagnosis,
  kTuning,
  kTopology,
  kIntraNode,
  kNetwork,
  kInfiniBand,
  kWindow,
  kPlugin,
};

/// What an integer parameter holds when it has no default and nobody set it.
inline constexpr std::int64_t kUnset = std::numeric_limits<std::int64_t>::min();

struct ParameterRow {
  std::string_view name{};
  ParameterKind kind = ParameterKind::kText;
  std::string_view fallback{};  ///< The default as one would write it; empty: none.
  std::int64_t minimum = 0;
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
  std::string_view unit{};
  std::string_view choices{};  ///< kChoice: "first|second|...", numbered from 0.
  std::string_view doc{};
  ParameterGroup group = ParameterGroup::kLog;
  std::string_view
      since{};  ///< Version of NCCL for names newer than 2.28; of this library for ours.
  bool has_effect = false;  ///< False: known, so that it does not warn, but it changes nothing yet.

  // Refinements, each a changed copy.
  [[nodiscard]] constexpr ParameterRow used() const {
    ParameterRow row = *this;
    row.has_effect = true;
    return row;
  }
  [[nodiscard]] constexpr ParameterRow from(std::string_view version) const {
    ParameterRow row = *this;
    row.since = version;
    return row;
  }
  [[nodiscard]] constexpr ParameterRow range(std::int64_t least, std::int64_t most) const {
    ParameterRow row = *this;
    row.minimum = least;
    row.maximum = most;
    return row;
  }
  [[nodiscard]] constexpr ParameterRow in(std::string_view unit_name) const {
    ParameterRow row = *this;
    row.unit = unit_name;
    return row;
  }
};

namespace rows {

/// Integers are wide open below where -1 means "choose for me"; range() narrows them.
constexpr ParameterRow integer(std::string_view name, std::string_view fallback,
                               std::string_view doc) {
  return {.name = name,
          .kind = ParameterKind::kInteger,
          .fallback = fallback,
          .minimum = -1,
          .maximum = std::numeric_limits<std::int32_t>::max(),
          .doc = doc};
}
constexpr ParameterRow boolean(std::string_view name, std::string_view fallback,
                               std::string_view doc) {
  return {.name = name,
          .kind = ParameterKind::kBoolean,
          .fallback = fallback,
          .minimum = 0,
          .maximum = 1,
          .doc = doc};
}
constexpr ParameterRow size(std::string_view name, std::string_view fallback,
                            std::string_view doc) {
  return {.name = name,
          .kind = ParameterKind::kSize,
          .fallback = fallback,
          .minimum = 0,
          .maximum = std::int64_t{1} << 50,
          .unit = "bytes",
          .doc = doc};
}
constexpr ParameterRow seconds(std::string_view name, std::string_view fallback,
                               std::string_view doc) {
  return {.name = name,
          .kind = ParameterKind::kSeconds,
          .fallback = fallback,
          .minimum = 0,
          .maximum = std::int64_t{365} * 24 * 3600,
          .unit = "seconds",
          .doc = doc};
}
constexpr ParameterRow choice(std::string_view name, std::string_view fallback,
                              std::string_view choices, std::string_view doc) {
  return {.name = name,
          .kind = ParameterKind::kChoice,
          .fallback = fallback,
          .choices = choices,
          .doc = doc};
}
constexpr ParameterRow text(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = ParameterKind::kText, .doc = doc};
}
constexpr ParameterRow text(std::string_view name, std::string_view fallback,
                            std::string_view doc) {
  return {.name = name, .kind = ParameterKind::kText, .fallback = fallback, .doc = doc};
}

}  // namespace rows
}  // namespace ripieno

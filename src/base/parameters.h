// Typed access to the table of parameters (parameter_table.h). All values are read together, once,
// from the environment and the configuration files into an immutable snapshot; a handle then costs
// two loads. Nothing here logs: what was wrong with a value waits in the snapshot until the log,
// which needs parameters itself, has been opened.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parameter_table.h"

namespace ripieno {

/// A name and its text, and where it was written ("environment", "/etc/nccl.conf:3").
struct ParameterSetting {
  std::string name;
  std::string text;
  std::string source;
};

/// All values at one moment.
class ParameterSnapshot {
 public:
  /// Parses settings; an earlier one wins over a later one of the same name. Never fails: what is
  /// wrong becomes a warning and the default (or the nearest end of the range) holds.
  explicit ParameterSnapshot(std::span<const ParameterSetting> settings,
                             std::vector<std::string> warnings = {});

  struct Value {
    std::int64_t number = 0;  ///< kText: 0; kChoice: index; without default and unset: kUnset.
    std::string text{};       ///< As given, or the default.
    std::string source{};     ///< Empty: the default holds.
  };
  [[nodiscard]] const Value& at(std::size_t row) const noexcept { return values_[row]; }
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  void take(std::size_t row, const ParameterSetting& setting);

  std::vector<Value> values_;
  std::vector<std::string> warnings_;
};

namespace detail {
/// The snapshot in force; null before the first use. Replaced ones are kept, never freed.
extern std::atomic<const ParameterSnapshot*> current_parameters;
const ParameterSnapshot& load_parameters();
}  // namespace detail

/// The process's values, read at the first use.
[[nodiscard]] inline const ParameterSnapshot& parameters() {
  const ParameterSnapshot* snapshot = detail::current_parameters.load(std::memory_order_acquire);
  return snapshot != nullptr ? *snapshot : detail::load_parameters();
}
/// Reads environment and files again. Values handed out before stay valid, and communicators that
/// exist keep what they took; meant for tests and tools.
void reload_parameters();

/// Settings of the process: the NCCL_* and RIPIENO_* variables of the environment.
std::vector<ParameterSetting> environment_settings();
/// Settings in the text of a configuration file: KEY=VALUE lines, '#' starts a comment. Lines that
/// are neither go to `warnings`.
std::vector<ParameterSetting> parse_configuration(std::string_view text, std::string_view file_name,
                                                  std::vector<std::string>& warnings);

/// Result of reading one number: what it is, or why not.
struct ParsedNumber {
  enum class Fault : std::uint8_t { kNone, kUnreadable, kBelow, kAbove };
  std::int64_t number = 0;
  Fault fault = Fault::kNone;
};
/// Reads `text` as the row's kind wants it; kBelow and kAbove come with the end of the range.
ParsedNumber parse_number(const ParameterRow& row, std::string_view text);
/// "1 to 64", "0 or 1", "auto, host or cuda".
std::string valid_values(const ParameterRow& row);
/// The known name nearest to `name`; empty if none is near.
std::string_view nearest_parameter(std::string_view name);

/// docs/parameters.md, as rendered from the table.
std::string parameters_markdown();

/// A parameter of whole numbers. The name must be in the table with this kind, or it does not
/// compile.
template <ParameterKind kKind>
class NumberParameter {
 public:
  consteval explicit NumberParameter(std::string_view name) : row_(parameter_row_of(name, kKind)) {}
  /// Never below or above the row's range; kUnset where the row has no default and nobody set it.
  [[nodiscard]] std::int64_t value() const noexcept { return parameters().at(row_).number; }
  /// Whether environment or a file set it.
  [[nodiscard]] bool is_set() const noexcept { return !parameters().at(row_).source.empty(); }
  [[nodiscard]] std::string_view name() const noexcept { return parameter_rows()[row_].name; }
  [[nodiscard]] const std::string& source() const noexcept { return parameters().at(row_).source; }

 private:
  std::size_t row_;
};
using IntParameter = NumberParameter<ParameterKind::kInteger>;
using SizeParameter = NumberParameter<ParameterKind::kSize>;

class BoolParameter {
 public:
  consteval explicit BoolParameter(std::string_view name)
      : row_(parameter_row_of(name, ParameterKind::kBoolean)) {}
  /// False also where the row has no default and nobody set it: ask is_set().
  [[nodiscard]] bool value() const noexcept { return parameters().at(row_).number == 1; }
  [[nodiscard]] bool is_set() const noexcept { return !parameters().at(row_).source.empty(); }
  [[nodiscard]] std::string_view name() const noexcept { return parameter_rows()[row_].name; }
  [[nodiscard]] const std::string& source() const noexcept { return parameters().at(row_).source; }

 private:
  std::size_t row_;
};

class SecondsParameter {
 public:
  consteval explicit SecondsParameter(std::string_view name)
      : row_(parameter_row_of(name, ParameterKind::kSeconds)) {}
  [[nodiscard]] std::chrono::seconds value() const noexcept {
    return std::chrono::seconds(parameters().at(row_).number);
  }
  [[nodiscard]] bool is_set() const noexcept { return !parameters().at(row_).source.empty(); }

 private:
  std::size_t row_;
};

class StringParameter {
 public:
  consteval explicit StringParameter(std::string_view name)
      : row_(parameter_row_of(name, ParameterKind::kText)) {}
  /// Empty where unset. Valid for the life of the process.
  [[nodiscard]] const std::string& value() const noexcept { return parameters().at(row_).text; }
  [[nodiscard]] bool is_set() const noexcept { return !parameters().at(row_).source.empty(); }
  [[nodiscard]] const std::string& source() const noexcept { return parameters().at(row_).source; }
  [[nodiscard]] std::string_view name() const noexcept { return parameter_rows()[row_].name; }

 private:
  std::size_t row_;
};

/// A parameter with named values; `Enum` lists them in the order of the row's `choices`, from 0.
template <typename Enum>
class EnumParameter {
 public:
  consteval explicit EnumParameter(std::string_view name)
      : row_(parameter_row_of(name, ParameterKind::kChoice)) {}
  [[nodiscard]] Enum value() const noexcept {
    return static_cast<Enum>(parameters().at(row_).number);
  }
  [[nodiscard]] bool is_set() const noexcept { return !parameters().at(row_).source.empty(); }

 private:
  std::size_t row_;
};

}  // namespace ripieno

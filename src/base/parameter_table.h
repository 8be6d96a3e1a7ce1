// All parameters of the library, in one constexpr table: its rows stand in parameter_rows_*.h by
// group. Handles look their row up while they are compiled, so a misspelt name is an error there.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/parameter_row.h"
#include "base/parameter_rows_device.h"
#include "base/parameter_rows_network.h"
#include "base/parameter_rows_ours.h"

namespace ripieno {

namespace detail {

template <std::size_t... kCounts>
constexpr auto join_rows(const std::array<ParameterRow, kCounts>&... groups) {
  std::array<ParameterRow, (kCounts + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& group) {
    for (const ParameterRow& row : group) all[next++] = row;
  };
  (append(groups), ...);
  return all;
}

template <std::size_t kCount>
constexpr auto in_group(ParameterGroup group, std::array<ParameterRow, kCount> rows) {
  for (ParameterRow& row : rows) row.group = group;
  return rows;
}

inline constexpr auto kParameterRows =
    join_rows(in_group(ParameterGroup::kLog, rows::kLog),
              in_group(ParameterGroup::kBootstrap, rows::kBootstrap),
              in_group(ParameterGroup::kCommunicator, rows::kCommunicator),
              in_group(ParameterGroup::kDevice, rows::kDevice),
              in_group(ParameterGroup::kDiagnosis, rows::kDiagnosis),
              in_group(ParameterGroup::kTuning, rows::kTuning),
              in_group(ParameterGroup::kTopology, rows::kTopology),
              in_group(ParameterGroup::kIntraNode, rows::kIntraNode),
              in_group(ParameterGroup::kNetwork, rows::kNetwork),
              in_group(ParameterGroup::kInfiniBand, rows::kInfiniBand),
              in_group(ParameterGroup::kWindow, rows::kWindow),
              in_group(ParameterGroup::kPlugin, rows::kPlugin));

}  // namespace detail

[[nodiscard]] constexpr std::span<const ParameterRow> parameter_rows() noexcept {
  return detail::kParameterRows;
}

inline constexpr std::size_t kNoParameter = static_cast<std::size_t>(-1);

/// Index of the row called `name`, or kNoParameter.
[[nodiscard]] constexpr std::size_t find_parameter(std::string_view name) noexcept {
  for (std::size_t row = 0; row < detail::kParameterRows.size(); ++row) {
    if (detail::kParameterRows[row].name == name) return row;
  }
  return kNoParameter;
}

/// For handles. The throw expressions are never reached at run time: they stop the compiler, which
/// shows the line.
consteval std::size_t parameter_row_of(std::string_view name, ParameterKind kind) {
  const std::size_t row = find_parameter(name);
  if (row == kNoParameter) throw "there is no parameter of this name in the table";
  if (detail::kParameterRows[row].kind != kind) throw "the parameter is of another kind";
  return row;
}

}  // namespace ripieno

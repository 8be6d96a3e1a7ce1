// The reference page of parameters, rendered from the table so that the two cannot differ.
#include <fmt/format.h>

#include <iterator>

#include "base/parameters.h"

namespace ripieno {
namespace {

std::string_view title(ParameterGroup group) {
  switch (group) {
    case ParameterGroup::kLog:
      return "Log and configuration";
    case ParameterGroup::kBootstrap:
      return "Bootstrap and sockets";
    case ParameterGroup::kCommunicator:
      return "Communicators";
    case ParameterGroup::kDevice:
      return "Devices";
    case ParameterGroup::kDiagnosis:
      return "Diagnosis";
    case ParameterGroup::kTuning:
      return "Algorithms and tuning";
    case ParameterGroup::kTopology:
      return "Topology";
    case ParameterGroup::kIntraNode:
      return "Inside a host";
    case ParameterGroup::kNetwork:
      return "Network";
    case ParameterGroup::kInfiniBand:
      return "InfiniBand and RoCE";
    case ParameterGroup::kWindow:
      return "Windows and one-sided operations";
    case ParameterGroup::kPlugin:
      return "Plugins";
  }
  return "";
}

/// Markdown tables split cells at bars.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '|') result += '\\';
    result += letter;
  }
  return result;
}

std::string values_cell(const ParameterRow& row) {
  constexpr std::int64_t kNoRealLimit = std::int64_t{1} << 31;
  if (row.kind == ParameterKind::kText) return "text";
  if (row.kind == ParameterKind::kSize && row.maximum > kNoRealLimit) return "bytes, K, M, G";
  if (row.kind == ParameterKind::kInteger && row.maximum >= kNoRealLimit - 1) {
    return row.unit.empty() ? "number" : fmt::format("number, {}", row.unit);
  }
  return valid_values(row);
}

constexpr std::string_view kIntroduction =
    R"(# Parameters

<!-- Rendered from the table in src/base/parameter_rows_*.h; a test compares. `ripieno env --markdown`
     renders it again. -->

A parameter is read from the environment, else from the file that `NCCL_CONF_FILE` names (unset:
`~/.nccl.conf`), else from `/etc/nccl.conf`. Files hold `NAME=VALUE` lines; `#` starts a comment. All
are read together at the first use, so set them before the first communicator is made.

`NCCL_*` names mean what they mean in NCCL. A value that cannot be read is reported by a warning and the
default holds; a number out of range is reported and the nearest end of the range holds; an unknown
`NCCL_*` or `RIPIENO_*` name is reported with the nearest known one. Warnings show with
`NCCL_DEBUG=WARN`. Numbers may be decimal, hexadecimal (0x) or octal (0). Names under "Known, without
effect" are accepted so that existing job scripts run silently; their values change nothing in this
version.
)";

void render_group(ParameterGroup group, bool has_effect, std::string& page) {
  bool opened = false;
  const auto out = std::back_inserter(page);
  for (const ParameterRow& row : parameter_rows()) {
    if (row.group != group || row.has_effect != has_effect) continue;
    if (!opened) {
      fmt::format_to(out, "\n### {}\n\n| name | default | values | since | meaning |\n",
                     title(group));
      fmt::format_to(out, "| --- | --- | --- | --- | --- |\n");
      opened = true;
    }
    fmt::format_to(out, "| `{}` | {} | {} | {} | {} |\n", row.name,
                   row.fallback.empty() ? "" : fmt::format("`{}`", escaped(row.fallback)),
                   escaped(values_cell(row)), row.since, escaped(row.doc));
  }
}

}  // namespace

std::string parameters_markdown() {
  std::string page(kIntroduction);
  for (const bool has_effect : {true, false}) {
    page += has_effect ? "\n## With effect\n" : "\n## Known, without effect\n";
    for (int group = 0; group <= static_cast<int>(ParameterGroup::kPlugin); ++group) {
      render_group(static_cast<ParameterGroup>(group), has_effect, page);
    }
  }
  return page;
}

}  // namespace ripieno

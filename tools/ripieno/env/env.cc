// `ripieno env`: the parameters of the library as this environment sets them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/parameters.h"
#include "command.h"
#include "command_line.h"
#include "words.h"

namespace ripieno::tool {
namespace {

constexpr std::size_t kWidth = 79;

constexpr const char* kDescription =
    "Shows the parameters of the library: what this environment and the configuration\n"
    "files set, and with --all every one there is.";

constexpr const char* kFooter =
    "Examples:\n"
    "  NCCL_DEBUG=INFO ripieno env\n"
    "  ripieno env --check && mpirun -n 4 ./program";

std::string value_text(const ParameterSnapshot::Value& value, const ParameterRow& row) {
  if (!value.source.empty()) return value.text;
  return row.fallback.empty() ? "(none)" : std::string(row.fallback);
}

/// Two lines and more: "NAME = value    source, default", then the description.
std::string describe(const ParameterSnapshot::Value& value, const ParameterRow& row) {
  const std::string unit = row.unit.empty() ? "" : fmt::format(" {}", row.unit);
  std::string text = fmt::format("{} = {}{}", row.name, value_text(value, row), unit);
  const std::string origin = value.source.empty()
                                 ? "default"
                                 : fmt::format("{}; default {}", value.source,
                                               row.fallback.empty() ? "(none)" : row.fallback);
  if (text.size() + 2 + origin.size() <= kWidth) {
    text += fmt::format("{:>{}}\n", origin, kWidth - text.size());
  } else {
    text += fmt::format("\n{:>{}}\n", origin, kWidth);
  }
  std::string doc(row.doc);
  if (!row.has_effect) doc += " Known, but without effect here.";
  for (const std::string& line : wrap(doc, kWidth - 4)) text += "    " + line + "\n";
  return text;
}

int print_parameters(bool all) {
  const ParameterSnapshot& snapshot = parameters();
  int shown = 0;
  for (std::size_t row = 0; row < parameter_rows().size(); ++row) {
    const ParameterSnapshot::Value& value = snapshot.at(row);
    if (!all && value.source.empty()) continue;
    fmt::print("{}", describe(value, parameter_rows()[row]));
    ++shown;
  }
  if (shown == 0) {
    fmt::print(
        "Nothing is set: all {} parameters have their defaults (ripieno env --all shows them).\n",
        parameter_rows().size());
  }
  return kExitOk;
}

/// Tells what is wrong with names and values.
int print_warnings(std::FILE* stream) {
  for (const std::string& warning : parameters().warnings()) {
    std::string text = "ripieno env: ";
    for (const std::string& line : wrap(text + warning, kWidth)) fmt::print(stream, "{}\n", line);
  }
  return parameters().warnings().empty() ? kExitOk : kExitFailed;
}

}  // namespace

int env_command(int count, char** arguments) {
  bool check = false;
  bool all = false;
  bool markdown = false;
  CLI::App app(kDescription, "ripieno env");
  CLI::Option* check_option =
      app.add_flag("--check", check, "End with 1 if a name is unknown or a value is wrong");
  app.add_flag("--all", all, "Also those that have their default");
  app.add_flag("--markdown", markdown, "Print the reference page instead")->excludes(check_option);
  app.footer(kFooter);
  if (!parse_command_line(app, "[OPTIONS]", count, arguments)) return kExitOk;
  if (markdown) {
    fmt::print("{}", parameters_markdown());
    return kExitOk;
  }
  print_parameters(all);
  std::fflush(stdout);
  const int verdict = print_warnings(stderr);
  return check ? verdict : kExitOk;
}

}  // namespace ripieno::tool

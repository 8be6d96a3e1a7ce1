// Command lines of the subcommands: CLI11 with one look for help and one sentence for what is
// wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

namespace ripieno::tool {

/// Parses arguments[1...]. False if help was asked for, which is then printed; `usage` is what
/// follows the command's name there. Throws UsageError with one sentence, and for an unknown option
/// the nearest one.
[[nodiscard]] bool parse_command_line(CLI::App& app, std::string_view usage, int count,
                                      const char* const* arguments);

}  // namespace ripieno::tool

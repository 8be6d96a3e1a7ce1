// How CLI11's exceptions become sentences.
#include "command_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "command.h"
#include "words.h"

namespace ripieno::tool {
namespace {

/// The names of all options, with their dashes.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return "there is an argument too many";
  const std::string word = rest.front().substr(0, rest.front().find('='));
  if (!word.starts_with('-')) return fmt::format("the argument '{}' has no place here", word);
  const std::vector<std::string> names = option_names(app);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view guess =
      word.starts_with("--") ? nearest(word, candidates) : std::string_view();
  if (!guess.empty()) return fmt::format("there is no option {}; did you mean {}?", word, guess);
  return fmt::format("there is no option {}", word);
}

/// Lower-case first letter and no full stop: the sentence continues "ripieno perf: ".
std::string as_clause(std::string text) {
  while (!text.empty() && (text.back() == '.' || text.back() == '\n')) text.pop_back();
  if (text.size() > 1 && std::isupper(static_cast<unsigned char>(text[0])) &&
      std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

/// "-b, --minbytes BYTES", or "    --procs N" for an option without a letter.
std::string option_heading(const CLI::Option& option) {
  std::string text = option.get_snames().empty() ? "   " : "-" + option.get_snames().front() + ",";
  for (const std::string& name : option.get_lnames()) text += " --" + name;
  // Checks of the value add themselves to the type's name, after a colon.
  const std::string type = option.get_type_name();
  if (option.get_type_size() != 0) text += " " + type.substr(0, type.find(':'));
  return text;
}

void print_option(const CLI::Option& option) {
  constexpr std::size_t kColumn = 28;
  constexpr std::size_t kWidth = 79;
  std::string heading = option_heading(option);
  for (const std::string& line : wrap(option.get_description(), kWidth - kColumn)) {
    fmt::print("  {:<{}}{}\n", heading, kColumn - 2, line);
    heading.clear();
  }
}

void print_help(const CLI::App& app, std::string_view usage) {
  fmt::print("{}\n\nUsage: {} {}\n", app.get_description(), app.get_name(), usage);
  for (const std::string& group : app.get_groups()) {
    const std::vector<const CLI::Option*> options =
        app.get_options([&](const CLI::Option* option) { return option->get_group() == group; });
    if (group.empty() || options.empty()) continue;
    fmt::print("\n{}:\n", group);
    for (const CLI::Option* option : options) print_option(*option);
  }
  fmt::print("\n{}\n", app.get_footer());
}

}  // namespace

bool parse_command_line(CLI::App& app, std::string_view usage, int count,
                        const char* const* arguments) {
  app.set_help_flag("-h,--help", "Print this help");
  try {
    app.parse(count, arguments);
    return true;
  } catch (const CLI::CallForHelp&) {
    print_help(app, usage);
    return false;
  } catch (const CLI::ExtrasError&) {
    throw UsageError(unexpected(app));
  } catch (const CLI::ParseError& error) {
    throw UsageError(as_clause(error.what()));
  }
}

}  // namespace ripieno::tool

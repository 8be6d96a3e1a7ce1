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

}  // namespace

bool parse_command_line(CLI::App& app, int count, const char* const* arguments) {
  app.get_formatter()->column_width(28);
  app.set_help_flag("-h,--help", "Print this help");
  try {
    app.parse(count, arguments);
    return true;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ExtrasError&) {
    throw UsageError(unexpected(app));
  } catch (const CLI::ParseError& error) {
    throw UsageError(as_clause(error.what()));
  }
}

}  // namespace ripieno::tool

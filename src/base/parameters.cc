// From texts to values: parsing, ranges, warnings, and the process's one snapshot.
#include "base/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

extern char** environ;

namespace ripieno {
namespace {

// Names with our prefixes that others own: set by container images and build systems, or read by
// programs and plugins above and below the library.
constexpr std::string_view kForeignNames[] = {
    "NCCL_VERSION",
    "NCCL_HOME",
    "NCCL_ROOT",
    "NCCL_ROOT_DIR",
    "NCCL_DIR",
    "NCCL_LIB_DIR",
    "NCCL_INCLUDE_DIR",
    "NCCL_LIBRARY",
    "NCCL_BLOCKING_WAIT",
    "NCCL_DESYNC_DEBUG",
    "NCCL_ASYNC_ERROR_HANDLING",
};
constexpr std::string_view kForeignPrefixes[] = {"NCCL_OFI_", "NCCL_TESTS_", "NCCL_FASTRAK_",
                                                 "NCCL_PLUGIN_", "NCCL_TUNER_CONFIG"};

bool is_ours(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("RIPIENO_");
}

bool is_foreign(std::string_view name) {
  return std::ranges::find(kForeignNames, name) != std::end(kForeignNames) ||
         std::ranges::any_of(kForeignPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char letter) { return std::toupper(letter); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> choices_of(const ParameterRow& row) {
  std::vector<std::string_view> choices;
  std::string_view rest = row.choices;
  while (true) {
    const auto bar = rest.find('|');
    choices.push_back(rest.substr(0, bar));
    if (bar == std::string_view::npos) return choices;
    rest.remove_prefix(bar + 1);
  }
}

constexpr ParsedNumber kUnreadable{.fault = ParsedNumber::Fault::kUnreadable};

ParsedNumber parse_choice(const ParameterRow& row, std::string_view text) {
  const auto choices = choices_of(row);
  for (std::size_t index = 0; index < choices.size(); ++index) {
    if (upper(choices[index]) == upper(text)) return {.number = static_cast<std::int64_t>(index)};
  }
  return kUnreadable;
}

ParsedNumber parse_boolean(std::string_view text) {
  const std::string word = upper(text);
  for (const std::string_view no : {"0", "FALSE", "NO", "OFF"}) {
    if (word == no) return {.number = 0};
  }
  for (const std::string_view yes : {"1", "TRUE", "YES", "ON"}) {
    if (word == yes) return {.number = 1};
  }
  return kUnreadable;
}

/// Takes a suffix K, M or G off `text`: how far to shift.
int take_size_suffix(std::string_view& text) {
  if (text.empty()) return 0;
  const auto place = std::string_view("KMG").find(
      static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
  if (place == std::string_view::npos) return 0;
  text.remove_suffix(1);
  return 10 * (static_cast<int>(place) + 1);
}

/// Digits with NCCL's bases: 0x hexadecimal, leading 0 octal, else decimal.
ParsedNumber parse_digits(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc() || end != text.data() + text.size()) return kUnreadable;
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (magnitude > kLargest) return kUnreadable;
  const auto number = static_cast<std::int64_t>(magnitude);
  return {.number = negative ? -number : number};
}

ParsedNumber within_range(const ParameterRow& row, std::int64_t number) {
  // A negative where only counts make sense is a mistake, not a small count.
  if (number < 0 && row.minimum >= 0) return kUnreadable;
  if (number < row.minimum) return {.number = row.minimum, .fault = ParsedNumber::Fault::kBelow};
  if (number > row.maximum) return {.number = row.maximum, .fault = ParsedNumber::Fault::kAbove};
  return {.number = number};
}

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t column = 0; column <= to.size(); ++column) row[column] = column;
  for (std::size_t line = 1; line <= from.size(); ++line) {
    std::size_t diagonal = row[0];
    row[0] = line;
    for (std::size_t column = 1; column <= to.size(); ++column) {
      const std::size_t replaced = diagonal + (from[line - 1] == to[column - 1] ? 0 : 1);
      diagonal = row[column];
      row[column] = std::min({replaced, row[column] + 1, row[column - 1] + 1});
    }
  }
  return row[to.size()];
}

std::string unknown_name_warning(const ParameterSetting& setting) {
  const std::string_view near = nearest_parameter(setting.name);
  if (near.empty()) {
    return fmt::format("{} ({}) is not a parameter of this library; it is ignored", setting.name,
                       setting.source);
  }
  return fmt::format("{} ({}) is not a parameter of this library; did you mean {}? It is ignored",
                     setting.name, setting.source, near);
}

std::string_view environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

/// The whole file, or nothing with errno set.
bool read_file(const std::string& path, std::string& content) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (!file) return false;
  std::array<char, 4096> block;
  // A configuration is small; whoever points at something endless gets the beginning of it.
  constexpr std::size_t kLargestFile = std::size_t{1} << 20;
  errno = 0;
  while (content.size() < kLargestFile) {
    const std::size_t got = std::fread(block.data(), 1, block.size(), file.get());
    if (got == 0) break;
    content.append(block.data(), got);
  }
  return std::ferror(file.get()) == 0;
}

void append_file(const std::string& path, bool must_exist, std::vector<ParameterSetting>& settings,
                 std::vector<std::string>& warnings) {
  std::string content;
  if (!read_file(path, content)) {
    const Error reason = Error::system(fmt::format("Could not read {}", path), errno);
    if (must_exist) warnings.push_back(fmt::format("NCCL_CONF_FILE: {}", reason.what()));
    return;
  }
  auto more = parse_configuration(content, path, warnings);
  settings.insert(settings.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

std::unique_ptr<const ParameterSnapshot> read_process() {
  std::vector<ParameterSetting> settings = environment_settings();
  std::vector<std::string> warnings;
  const std::string_view named = environment_value("NCCL_CONF_FILE");
  const std::string_view home = environment_value("HOME");
  if (!named.empty()) {
    append_file(std::string(named), true, settings, warnings);
  } else if (!home.empty()) {
    append_file(fmt::format("{}/.nccl.conf", home), false, settings, warnings);
  }
  append_file("/etc/nccl.conf", false, settings, warnings);
  return std::make_unique<const ParameterSnapshot>(settings, std::move(warnings));
}

/// Owns all snapshots ever in force: handles give out references into them.
struct Snapshots {
  std::mutex mutex;
  std::vector<std::unique_ptr<const ParameterSnapshot>> all;

  const ParameterSnapshot& add() {
    all.push_back(read_process());
    detail::current_parameters.store(all.back().get(), std::memory_order_release);
    return *all.back();
  }
};

Snapshots& snapshots() {
  // Never destroyed: threads of the library may still read values while the process exits.
  static Snapshots* const the_one = new Snapshots;
  return *the_one;
}

}  // namespace

namespace detail {

constinit std::atomic<const ParameterSnapshot*> current_parameters{nullptr};

const ParameterSnapshot& load_parameters() {
  Snapshots& owner = snapshots();
  const std::lock_guard lock(owner.mutex);
  const ParameterSnapshot* snapshot = current_parameters.load(std::memory_order_relaxed);
  return snapshot != nullptr ? *snapshot : owner.add();
}

}  // namespace detail

void reload_parameters() {
  Snapshots& owner = snapshots();
  const std::lock_guard lock(owner.mutex);
  owner.add();
}

std::vector<ParameterSetting> environment_settings() {
  std::vector<ParameterSetting> settings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !is_ours(text)) continue;
    settings.push_back({.name = std::string(text.substr(0, equals)),
                        .text = std::string(text.substr(equals + 1)),
                        .source = "environment"});
  }
  return settings;
}

std::vector<ParameterSetting> parse_configuration(std::string_view text, std::string_view file_name,
                                                  std::vector<std::string>& warnings) {
  std::vector<ParameterSetting> settings;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || name.empty()) {
      warnings.push_back(
          fmt::format("{}:{}: `{}` is not of the form NAME=VALUE; the line is ignored", file_name,
                      number, line.substr(0, 80)));
      continue;
    }
    settings.push_back({.name = std::string(name),
                        .text = std::string(trimmed(line.substr(equals + 1))),
                        .source = fmt::format("{}:{}", file_name, number)});
  }
  return settings;
}

ParsedNumber parse_number(const ParameterRow& row, std::string_view text) {
  text = trimmed(text);
  switch (row.kind) {
    case ParameterKind::kText:
      return {};
    case ParameterKind::kChoice:
      return parse_choice(row, text);
    case ParameterKind::kBoolean:
      return parse_boolean(text);
    case ParameterKind::kInteger:
    case ParameterKind::kSeconds:
    case ParameterKind::kSize:
      break;
  }
  const int shift = row.kind == ParameterKind::kSize ? take_size_suffix(text) : 0;
  const ParsedNumber digits = parse_digits(text);
  if (digits.fault != ParsedNumber::Fault::kNone) return digits;
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> shift;
  if (digits.number > most || digits.number < -most) return kUnreadable;
  return within_range(row, digits.number * (std::int64_t{1} << shift));
}

std::string valid_values(const ParameterRow& row) {
  switch (row.kind) {
    case ParameterKind::kText:
      return "any text";
    case ParameterKind::kBoolean:
      return "0 or 1";
    case ParameterKind::kChoice: {
      const auto choices = choices_of(row);
      return fmt::format("one of {}", fmt::join(choices, ", "));
    }
    default:
      return fmt::format("{} to {}{}{}", row.minimum, row.maximum, row.unit.empty() ? "" : " ",
                         row.unit);
  }
}

std::string_view nearest_parameter(std::string_view name) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 5) + 1;
  for (const ParameterRow& row : parameter_rows()) {
    const std::size_t distance = edit_distance(name, row.name);
    if (distance < least) {
      least = distance;
      nearest = row.name;
    }
  }
  return nearest;
}

ParameterSnapshot::ParameterSnapshot(std::span<const ParameterSetting> settings,
                                     std::vector<std::string> warnings)
    : values_(parameter_rows().size()), warnings_(std::move(warnings)) {
  std::unordered_map<std::string_view, std::size_t> row_of;
  for (std::size_t row = 0; row < parameter_rows().size(); ++row) {
    const ParameterRow& described = parameter_rows()[row];
    row_of.emplace(described.name, row);
    values_[row].text = described.fallback;
    values_[row].number = described.fallback.empty() && described.kind != ParameterKind::kText
                              ? kUnset
                              : parse_number(described, described.fallback).number;
  }
  std::unordered_set<std::string_view> reported;
  for (const ParameterSetting& setting : settings) {
    const auto row = row_of.find(setting.name);
    if (row != row_of.end()) {
      if (values_[row->second].source.empty()) take(row->second, setting);
    } else if (is_ours(setting.name) && !is_foreign(setting.name) &&
               reported.insert(setting.name).second) {
      warnings_.push_back(unknown_name_warning(setting));
    }
  }
}

void ParameterSnapshot::take(std::size_t row, const ParameterSetting& setting) {
  const ParameterRow& described = parameter_rows()[row];
  Value& value = values_[row];
  if (described.kind == ParameterKind::kText) {
    if (setting.text.empty()) return;
    value = {.number = 0, .text = setting.text, .source = setting.source};
    return;
  }
  const ParsedNumber parsed = parse_number(described, setting.text);
  switch (parsed.fault) {
    case ParsedNumber::Fault::kNone:
      value = {.number = parsed.number, .text = setting.text, .source = setting.source};
      return;
    case ParsedNumber::Fault::kUnreadable:
      warnings_.push_back(fmt::format(
          "{}={} ({}) is not valid, it takes {}; using {}", setting.name,
          setting.text.substr(0, 80), setting.source, valid_values(described),
          described.fallback.empty() ? "no value"
                                     : fmt::format("the default {}", described.fallback)));
      return;
    case ParsedNumber::Fault::kBelow:
    case ParsedNumber::Fault::kAbove:
      warnings_.push_back(fmt::format("{}={} ({}) is out of range, it takes {}; using {}",
                                      setting.name, setting.text.substr(0, 80), setting.source,
                                      valid_values(described), parsed.number));
      value = {.number = parsed.number,
               .text = fmt::format("{}", parsed.number),
               .source = setting.source};
      return;
  }
}

}  // namespace ripieno

// Edit distance, byte counts and line breaking.
#include "words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

#include "command.h"

namespace ripieno::tool {
namespace {

/// Insertions, deletions and substitutions that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t left = 0; left < a.size(); ++left) {
    std::size_t diagonal = row[0];
    row[0] = left + 1;
    for (std::size_t right = 0; right < b.size(); ++right) {
      const std::size_t substituted = diagonal + (a[left] == b[right] ? 0 : 1);
      diagonal = row[right + 1];
      row[right + 1] = std::min({substituted, diagonal + 1, row[right] + 1});
    }
  }
  return row.back();
}

std::uint64_t suffix_factor(std::string_view suffix) {
  std::string upper;
  for (const char letter : suffix) {
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  if (upper.empty() || upper == "B") return 1;
  constexpr std::string_view kLetters = "KMGT";
  const std::size_t power = kLetters.find(upper.front());
  const std::string_view rest = std::string_view(upper).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "IB")) return 0;
  return std::uint64_t{1} << (10 * (power + 1));
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 2);
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance || (best.empty() && distance == best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string unknown_word(std::string_view kind, std::string_view word,
                         std::span<const std::string_view> candidates) {
  const std::string_view guess = nearest(word, candidates);
  if (!guess.empty())
    return fmt::format("there is no {} '{}'; did you mean '{}'?", kind, word, guess);
  return fmt::format("there is no {} '{}'; use one of: {}", kind, word,
                     fmt::join(candidates, ", "));
}

std::uint64_t parse_bytes(std::string_view text, std::string_view option) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::uint64_t factor = fault == std::errc{} ? suffix_factor(suffix) : 0;
  const double bytes = number * static_cast<double>(factor);
  if (factor == 0 || !std::isfinite(number) || number < 0 || bytes >= 0x1p62) {
    throw UsageError(
        fmt::format("{} is '{}'; give bytes as a number with an optional K, M, G or T, such as 64M",
                    option, text));
  }
  return static_cast<std::uint64_t>(std::llround(bytes));
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (word.empty()) continue;
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

}  // namespace ripieno::tool

// Small helpers for text that a person types or reads: nearest words, byte counts with suffixes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ripieno::tool {

/// The candidate that `word` most likely meant; empty when none is near enough to be a typing
/// error.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

/// `there is no X 'word'; did you mean 'nearest'?`, or the whole list where nothing is near.
[[nodiscard]] std::string unknown_word(std::string_view kind, std::string_view word,
                                       std::span<const std::string_view> candidates);

/// "8", "64K", "1.5M", "2GB" in powers of 1024. Throws UsageError naming `option`.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text, std::string_view option);

/// "8 B", "64 KiB", "1.5 MiB".
[[nodiscard]] std::string readable_bytes(std::uint64_t bytes);

/// Breaks `text` between words into lines of at most `width` characters; a longer word gets a line
/// of its own.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace ripieno::tool

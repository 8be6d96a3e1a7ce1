#include "tune/algorithm.h"

#include <algorithm>

namespace ripieno::tune {
namespace {

constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames = {
    "Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
    "NVLSTree", "PAT",  "Direct",        "OneShot"};
constexpr std::array<std::string_view, kProtocols> kProtocolNames = {"LL", "LL128", "Simple"};

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool same_word(std::string_view one, std::string_view other) noexcept {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char left, char right) { return lower(left) == lower(right); });
}

template <std::size_t kCount>
std::optional<std::size_t> find_word(const std::array<std::string_view, kCount>& names,
                                     std::string_view text) noexcept {
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (same_word(names[index], text)) return index;
  }
  return std::nullopt;
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) noexcept {
  return kAlgorithmNames[index_of(algorithm)];
}

std::string_view protocol_name(Protocol protocol) noexcept {
  return kProtocolNames[index_of(protocol)];
}

std::optional<Algorithm> parse_algorithm(std::string_view text) noexcept {
  const std::optional<std::size_t> index = find_word(kAlgorithmNames, text);
  return index ? std::optional(algorithm_at(*index)) : std::nullopt;
}

std::optional<Protocol> parse_protocol(std::string_view text) noexcept {
  const std::optional<std::size_t> index = find_word(kProtocolNames, text);
  return index ? std::optional(protocol_at(*index)) : std::nullopt;
}

std::optional<coll::Function> parse_function(std::string_view text) noexcept {
  for (const coll::Function function : kCollectives) {
    if (same_word(coll::function_name(function), text)) return function;
  }
  return std::nullopt;
}

}  // namespace ripieno::tune

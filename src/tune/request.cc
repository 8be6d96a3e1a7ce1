#include "tune/request.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/parameters.h"

namespace ripieno::tune {
namespace {

using Mask = std::uint32_t;

constexpr StringParameter kAlgo{"NCCL_ALGO"};
constexpr StringParameter kProto{"NCCL_PROTO"};

constexpr Mask all_of(std::size_t count) noexcept {
  return (Mask{1} << count) - 1;
}

/// The two variables are read alike; they differ in their words.
struct Vocabulary {
  std::string_view variable;
  std::string_view noun;
  std::size_t count;
  std::string_view (*name)(std::size_t);
  std::optional<std::size_t> (*find)(std::string_view);
};

template <typename Value>
std::optional<std::size_t> position(const std::optional<Value>& value) noexcept {
  return value ? std::optional(index_of(*value)) : std::nullopt;
}

constexpr Vocabulary kAlgorithmWords = {
    "NCCL_ALGO", "an algorithm", kAlgorithms,
    [](std::size_t index) { return algorithm_name(algorithm_at(index)); },
    [](std::string_view word) { return position(parse_algorithm(word)); }};
constexpr Vocabulary kProtocolWords = {
    "NCCL_PROTO", "a protocol", kProtocols,
    [](std::size_t index) { return protocol_name(protocol_at(index)); },
    [](std::string_view word) { return position(parse_protocol(word)); }};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string known_words(const Vocabulary& words) {
  std::string text;
  for (std::size_t index = 0; index < words.count; ++index) {
    text += fmt::format("{}{}", index == 0 ? "" : ", ", words.name(index));
  }
  return text;
}

std::string known_functions() {
  std::string text;
  for (const coll::Function function : kCollectives) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", coll::function_name(function));
  }
  return text;
}

class Reader {
 public:
  Reader(const Vocabulary& words, std::string_view text, std::string_view source)
      : words_(words), text_(text), source_(source) {}

  void read(std::array<Mask, kFunctions>& masks) {
    masks.fill(all_of(words_.count));
    if (trim(text_).empty()) return;
    for (const std::string_view part : split(text_, ';')) {
      const std::size_t colon = part.find(':');
      if (colon == std::string_view::npos) {
        if (trim(part).empty()) continue;
        general(masks, read_list(part));
        continue;
      }
      const std::string_view name = trim(part.substr(0, colon));
      const std::optional<coll::Function> function = parse_function(name);
      if (!function) fail(name, "a function", known_functions());
      special(masks, *function, read_list(part.substr(colon + 1)));
    }
  }

 private:
  /// A list without function is for all functions that have none of their own.
  void general(std::array<Mask, kFunctions>& masks, Mask mask) const {
    for (std::size_t function = 0; function < kFunctions; ++function) {
      if (!own_[function]) masks[function] = mask;
    }
  }
  void special(std::array<Mask, kFunctions>& masks, coll::Function function, Mask mask) {
    own_[index_of(function)] = true;
    masks[index_of(function)] = mask;
  }

  [[nodiscard]] Mask read_list(std::string_view list) const {
    list = trim(list);
    const bool excludes = list.starts_with('^');
    if (excludes) list.remove_prefix(1);
    Mask mask = 0;
    for (const std::string_view item : split(list, ',')) mask |= bit_of(trim(item));
    if (excludes) mask = all_of(words_.count) & ~mask;
    if (mask == 0) {
      throw Error(ncclInvalidUsage, "{}='{}' (set by {}) excludes everything: {}", words_.variable,
                  text_, source_, known_words(words_));
    }
    return mask;
  }

  [[nodiscard]] Mask bit_of(std::string_view word) const {
    const std::optional<std::size_t> index = words_.find(word);
    if (!index) fail(word, words_.noun, known_words(words_));
    return Mask{1} << *index;
  }

  [[noreturn]] void fail(std::string_view word, std::string_view noun,
                         const std::string& known) const {
    throw Error(ncclInvalidUsage, "{}='{}' (set by {}): '{}' is not {}; there are {}",
                words_.variable, text_, source_, word, noun, known);
  }

  const Vocabulary& words_;
  std::string_view text_;
  std::string_view source_;
  std::array<bool, kFunctions> own_{};
};

}  // namespace

Request::Request() {
  algorithms_.fill(all_of(kAlgorithms));
  protocols_.fill(all_of(kProtocols));
}

Request Request::from_parameters() {
  Request request;
  Reader(kAlgorithmWords, kAlgo.value(), kAlgo.source()).read(request.algorithms_);
  Reader(kProtocolWords, kProto.value(), kProto.source()).read(request.protocols_);
  return request;
}

Request Request::parse(std::string_view algorithms, std::string_view protocols) {
  constexpr std::string_view kSource = "the caller";
  Request request;
  Reader(kAlgorithmWords, algorithms, kSource).read(request.algorithms_);
  Reader(kProtocolWords, protocols, kSource).read(request.protocols_);
  return request;
}

bool Request::allows(coll::Function function, Algorithm algorithm,
                     Protocol protocol) const noexcept {
  const std::size_t row = index_of(function);
  return ((algorithms_[row] >> index_of(algorithm)) & (protocols_[row] >> index_of(protocol)) &
          1) != 0;
}

bool Request::restricts(coll::Function function) const noexcept {
  const std::size_t row = index_of(function);
  return algorithms_[row] != all_of(kAlgorithms) || protocols_[row] != all_of(kProtocols);
}

bool Request::restricts() const noexcept {
  for (const coll::Function function : kCollectives) {
    if (restricts(function)) return true;
  }
  return false;
}

std::uint64_t Request::fingerprint() const noexcept {
  // FNV-1a over the masks.
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](Mask mask) { hash = (hash ^ mask) * 0x100000001b3; };
  for (const Mask mask : algorithms_) add(mask);
  for (const Mask mask : protocols_) add(mask);
  return hash;
}

}  // namespace ripieno::tune

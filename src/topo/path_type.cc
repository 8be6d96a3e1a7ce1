#include "topo/path_type.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace ripieno::topo {
namespace {

struct Words {
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array<Words, kPathTypeCount> kWords = {{
    {"LOC", "on the same device"},
    {"NVL", "over NVLink"},
    {"NVB", "over NVLink through another GPU"},
    {"C2C", "over a chip-to-chip link"},
    {"PIX", "through at most one PCI switch"},
    {"PXB", "through several PCI switches"},
    {"P2C", "over a chip-to-chip link to the CPU, then PCI"},
    {"PXN", "over NVLink through the GPU beside the network card"},
    {"PHB", "through the host's CPU"},
    {"SYS", "through the link between CPUs"},
    {"NET", "over the network, which is faster than the way inside the host"},
    {"DIS", "not connected"},
}};

constexpr char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

}  // namespace

std::string_view link_name(LinkKind kind) noexcept {
  constexpr std::array<std::string_view, 6> kNames = {"LOC", "NVL", "C2C", "PCI", "SYS", "NET"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view path_name(PathType type) noexcept {
  return kWords[static_cast<std::size_t>(type)].name;
}

std::string_view path_words(PathType type) noexcept {
  return kWords[static_cast<std::size_t>(type)].meaning;
}

std::optional<PathType> parse_path_type(std::string_view text) noexcept {
  for (std::size_t index = 0; index < kWords.size(); ++index) {
    const std::string_view name = kWords[index].name;
    if (text.size() != name.size()) continue;
    bool equal = true;
    for (std::size_t at = 0; at < name.size(); ++at) equal = equal && upper(text[at]) == name[at];
    if (equal) return static_cast<PathType>(index);
  }
  int number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  // Numbers of the time before there were names; anything larger means "as far as it goes".
  constexpr std::array kOld = {PathType::kLocal,      PathType::kPciSwitch,  PathType::kPciSwitches,
                               PathType::kHostBridge, PathType::kHostBridge, PathType::kSystem};
  if (number < 0) return std::nullopt;
  return kOld[number < 5 ? static_cast<std::size_t>(number) : 5];
}

}  // namespace ripieno::topo

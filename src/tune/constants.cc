#include "tune/constants.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "tune/constants_files.h"

namespace ripieno::tune {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, kFamilies> kFamilyNames = {"volta", "ampere", "hopper",
                                                                  "blackwell", "host"};
constexpr std::array<std::string_view, kWires> kWireNames = {"nvlink", "pci", "net"};

using ProtocolFigures = std::array<double, kProtocols>;

void read_algorithms(const json& object, std::array<ProtocolFigures, kPluginAlgorithms>& figures) {
  for (std::size_t index = 0; index < kPluginAlgorithms; ++index) {
    figures[index] =
        object.at(std::string(algorithm_name(algorithm_at(index)))).get<ProtocolFigures>();
  }
}

void read_limit(const json& limits, const char* name, ScaleTable& table) {
  for (std::size_t family = 0; family < kPluginFamilies; ++family) {
    table[family] =
        limits.at(std::string(kFamilyNames[family])).at(name).get<std::array<double, kScales>>();
  }
}

PluginConstants read_plugin_constants(const json& shared) {
  PluginConstants constants;
  read_algorithms(shared.at("base_us"), constants.base_us);
  for (std::size_t wire = 0; wire < kWires; ++wire) {
    read_algorithms(shared.at("hop_us").at(std::string(kWireNames[wire])), constants.hop_us[wire]);
  }
  const json& limits = shared.at("limits");
  read_limit(limits, "LL", constants.ll_limit);
  read_limit(limits, "RingLL128", constants.ring_ll128_limit);
  read_limit(limits, "TreeLL128", constants.tree_ll128_limit);
  read_limit(limits, "Tree", constants.tree_limit);
  read_limit(limits, "NVLSTree", constants.nvls_tree_limit);
  return constants;
}

OwnAlgorithm read_own(const json& object) {
  return {.base_us = object.at("base_us").get<double>(),
          .hop_us = object.at("hop_us").get<double>(),
          .rank_us = object.at("rank_us").get<double>(),
          .efficiency = object.at("efficiency").get<double>()};
}

}  // namespace

std::string_view family_name(Family family) noexcept {
  return kFamilyNames[static_cast<std::size_t>(family)];
}

Family family_of(int compute_capability) noexcept {
  if (compute_capability == 0) return Family::kHost;
  if (compute_capability < 80) return Family::kVolta;
  if (compute_capability < 90) return Family::kAmpere;
  return compute_capability < 100 ? Family::kHopper : Family::kBlackwell;
}

double value_of(const Curve& curve, double bytes) noexcept {
  if (curve.empty()) return 1.0;
  if (bytes <= curve.front().first) return curve.front().second;
  for (std::size_t knot = 1; knot < curve.size(); ++knot) {
    const auto& [left, low] = curve[knot - 1];
    const auto& [right, high] = curve[knot];
    if (bytes <= right) {
      return low + (high - low) * std::log2(bytes / left) / std::log2(right / left);
    }
  }
  return curve.back().second;
}

std::string_view constants_file(std::string_view name) noexcept {
  for (const auto& [known, text] : kConstantsFiles) {
    if (known == name) return text;
  }
  return {};
}

Constants parse_constants(Family family, std::string_view shared_text, std::string_view own_text) {
  Constants constants{.family = family};
  try {
    const json shared = json::parse(shared_text);
    const json own = json::parse(own_text);
    constants.plugin = read_plugin_constants(shared);
    for (std::size_t protocol = 0; protocol < kProtocols; ++protocol) {
      constants.tree_correction[protocol] =
          shared.at("tree_correction")
              .at(std::string(protocol_name(protocol_at(protocol))))
              .get<Curve>();
    }
    constants.nvls_efficiency = own.at("nvls_efficiency").get<double>();
    constants.full_ring_latency = own.at("full_ring_latency").get<double>();
    constants.memory_gbps = own.value("memory_gbps", 0.0);
    constants.direct = read_own(own.at("direct"));
    constants.one_shot = read_own(own.at("one_shot"));
  } catch (const json::exception& error) {
    throw Error(ncclInternalError, "constants of family {}: {}", family_name(family), error.what());
  }
  return constants;
}

Constants constants_of(Family family) {
  return parse_constants(family, constants_file("common"), constants_file(family_name(family)));
}

}  // namespace ripieno::tune

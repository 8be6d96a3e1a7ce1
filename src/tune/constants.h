// The figures that the cost model is fed with, one file per family of devices (constants/*.json,
// compiled in). Latencies and bandwidth limits of the plugin's table can be changed by a tuner
// plugin at init; the rest describes our own algorithms.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tune/algorithm.h"

namespace ripieno::tune {

enum class Family : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell, kHost };
inline constexpr std::size_t kFamilies = 5;
/// The families that have rows in a plugin's bandwidth tables.
inline constexpr std::size_t kPluginFamilies = 4;

[[nodiscard]] std::string_view family_name(Family family) noexcept;
/// The family of a compute capability (major * 10 + minor); 0 is a device of the host backend.
[[nodiscard]] Family family_of(int compute_capability) noexcept;

/// Hardware between two ranks.
enum class Wire : std::uint8_t { kNvlink, kPci, kNet };
inline constexpr std::size_t kWires = 3;

/// By number of hosts: one, two, more (three count as many).
inline constexpr std::size_t kScales = 3;
using ScaleTable = std::array<std::array<double, kScales>, kPluginFamilies>;

/// What a tuner plugin may change; the order of members is the plugin's.
struct PluginConstants {
  std::array<std::array<double, kProtocols>, kPluginAlgorithms> base_us{};
  std::array<std::array<std::array<double, kProtocols>, kPluginAlgorithms>, kWires> hop_us{};
  ScaleTable ll_limit{};
  ScaleTable ring_ll128_limit{};
  ScaleTable tree_ll128_limit{};
  ScaleTable tree_limit{};
  ScaleTable nvls_tree_limit{};
};

/// An algorithm of ours: base + hop for every barrier + rank for every peer + bytes / gbps.
struct OwnAlgorithm {
  double base_us = 0.0;
  double hop_us = 0.0;
  double rank_us = 0.0;
  double efficiency =
      1.0;  ///< Share of what the links carry; where there are none, of memory_gbps.
};

/// A curve over sizes, linear in the logarithm between its knots (bytes, factor).
using Curve = std::vector<std::pair<double, double>>;
[[nodiscard]] double value_of(const Curve& curve, double bytes) noexcept;

struct Constants {
  Family family = Family::kHost;
  PluginConstants plugin{};
  double nvls_efficiency = 0.0;
  /// Factor on the latency of rings of Simple over hosts once they are full.
  double full_ring_latency = 1.0;
  std::array<Curve, kProtocols> tree_correction{};
  OwnAlgorithm direct{};
  OwnAlgorithm one_shot{};
  double memory_gbps = 0.0;  ///< Host family: what all ranks of a host share.
};

/// The compiled-in figures of a family. Throws Error (ncclInternalError) if they cannot be read,
/// which a test excludes.
[[nodiscard]] Constants constants_of(Family family);

/// The text of the compiled-in file, "hopper" and so on; empty if there is none.
[[nodiscard]] std::string_view constants_file(std::string_view name) noexcept;
/// Reads such text. `shared` is that of common.json. Throws Error naming what is wrong.
[[nodiscard]] Constants parse_constants(Family family, std::string_view shared,
                                        std::string_view own);

}  // namespace ripieno::tune

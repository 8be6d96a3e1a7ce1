#include "tune/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ripieno::tune {
namespace {

using coll::Function;
using topo::PathType;

constexpr double kEverythingAtOnce = std::numeric_limits<double>::infinity();

bool in_parts(Function function) noexcept {
  return function == Function::kAllGather || function == Function::kReduceScatter;
}

bool known_to_rings(Function function) noexcept {
  return function == Function::kAllReduce || in_parts(function) ||
         function == Function::kBroadcast || function == Function::kReduce;
}

/// Hops that a byte takes around a ring.
double ring_steps(Function function, int ranks) noexcept {
  if (function == Function::kAllReduce) return 2.0 * (ranks - 1);
  return in_parts(function) ? ranks - 1.0 : ranks;
}

/// What an NVSwitch can reduce.
bool switch_reduces(const Query& query) noexcept {
  if (!coll::shape_of(query.function).reduces) return true;
  const bool extremum = query.reduce == ReduceKind::kMin || query.reduce == ReduceKind::kMax;
  switch (query.type) {
    case ncclInt32:
    case ncclUint32:
    case ncclInt64:
    case ncclUint64:
    case ncclFloat16:
    case ncclBfloat16:
      return extremum || query.reduce == ReduceKind::kSum;
    case ncclFloat32:
    case ncclFloat64:
      return query.reduce == ReduceKind::kSum;
    default:
      return false;
  }
}

/// Bytes that pass a rank's links in one direction, as a multiple of the buffer, when every rank
/// reaches every buffer.
double link_traffic(Function function, int ranks, bool one_shot) noexcept {
  const double others = ranks - 1.0;
  switch (function) {
    case Function::kAllReduce:
      return one_shot ? others : 2.0 * others / ranks;
    case Function::kBroadcast:
    case Function::kReduce:
      return others;
    default:
      return others / ranks;
  }
}

/// Bytes that all ranks together read and write in the memory they share, as a multiple of the
/// buffer.
double memory_traffic(Function function, int ranks, bool one_shot) noexcept {
  const double all = ranks;
  double traffic = 0.0;
  switch (function) {
    case Function::kAllReduce:
      return one_shot ? all * (all + 3.0) : 2.0 * all;
    case Function::kReduce:
    case Function::kReduceScatter:
      traffic = all + 1.0;
      break;
    case Function::kScatter:
    case Function::kGather:
      traffic = 2.0;
      break;
    default:
      traffic = 2.0 * all;
  }
  return one_shot ? 2.0 * traffic : traffic;
}

}  // namespace

CostModel::CostModel(const CostInputs& inputs, const Constants& constants, const Limits& limits)
    : inputs_(inputs), constants_(constants), limits_(limits) {
  for (const Function function : kCollectives) {
    for (std::size_t algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
      for (std::size_t protocol = 0; protocol < kProtocols; ++protocol) {
        lines_[index_of(function)].at(algorithm_at(algorithm), protocol_at(protocol)) =
            compute(function, algorithm_at(algorithm), protocol_at(protocol));
      }
    }
  }
}

std::size_t CostModel::scale() const noexcept {
  return static_cast<std::size_t>(std::clamp(inputs_.hosts, 1, 3) - 1);
}

std::size_t CostModel::row() const noexcept {
  return std::min(static_cast<std::size_t>(constants_.family), kPluginFamilies - 1);
}

double CostModel::ll_limit() const noexcept {
  // Over hosts the CPU's way to the network limits LL, not the device.
  const bool amd = inputs_.cpu_vendor == topo::CpuVendor::kAmd;
  const auto by_cpu = static_cast<std::size_t>(amd ? Family::kAmpere : Family::kVolta);
  return constants_.plugin.ll_limit[inputs_.hosts == 1 ? row() : by_cpu][scale()];
}

double CostModel::network_hop_us(Algorithm algorithm, Protocol protocol) const noexcept {
  // With one rank a host there is nobody to share the work of a hop with.
  const Algorithm as =
      algorithm == Algorithm::kRing && inputs_.ranks_per_host() == 1 ? Algorithm::kTree : algorithm;
  const double card = inputs_.net_latency_us * (protocol == Protocol::kSimple ? 2.0 : 1.0);
  const auto net = static_cast<std::size_t>(Wire::kNet);
  return constants_.plugin.hop_us[net][index_of(as)][index_of(protocol)] + card;
}

double CostModel::inner_hop_us(const Tracks& tracks, Algorithm algorithm,
                               Protocol protocol) const noexcept {
  const bool nvlink = tracks.type_intra <= PathType::kNvlink;
  const auto wire = static_cast<std::size_t>(nvlink ? Wire::kNvlink : Wire::kPci);
  return constants_.plugin.hop_us[wire][index_of(algorithm)][index_of(protocol)];
}

bool CostModel::ll128_fits(const Tracks& tracks) const noexcept {
  if (inputs_.compute_capability < 70) return false;
  const bool over_c2c = limits_.ll128_over_c2c && tracks.type_intra == PathType::kC2c;
  if (tracks.type_intra > PathType::kNvlinkBridge && !over_c2c) return false;
  if (inputs_.hosts == 1) return true;
  return tracks.type_inter <=
         (inputs_.compute_capability >= 90 ? PathType::kPxn : PathType::kPciSwitches);
}

double CostModel::ring_latency(Function function, Protocol protocol) const {
  const std::size_t cell = index_of(protocol);
  const double base = constants_.plugin.base_us[index_of(Algorithm::kRing)][cell];
  const double inner = inner_hop_us(inputs_.ring, Algorithm::kRing, protocol);
  const double steps = ring_steps(function, inputs_.ranks);
  const auto net = static_cast<std::size_t>(Wire::kNet);
  if (function != Function::kAllReduce && !in_parts(function)) {
    // A chain. Channels alike fill each other's gaps, so only one hop shows; otherwise a hop of
    // Simple costs what one of a tree costs, which waits for the whole chunk as well.
    if (inputs_.hosts > 1) {
      const double hop = constants_.plugin.hop_us[net][index_of(Algorithm::kRing)][cell];
      return base + (inputs_.ring.same_channels ? hop : steps * hop);
    }
    if (inputs_.ring.same_channels) return base + inner;
    const Algorithm as = protocol == Protocol::kSimple ? Algorithm::kTree : Algorithm::kRing;
    return base + steps * inner_hop_us(inputs_.ring, as, protocol);
  }
  if (inputs_.hosts == 1) return base + steps * inner;
  const bool amd = inputs_.cpu_vendor == topo::CpuVendor::kAmd;
  const double overhead = limits_.net_overhead_us.value_or(amd ? 2.0 : 1.0) *
                          (protocol == Protocol::kSimple ? 3.0 : 1.0);
  const double outer = (function == Function::kAllReduce ? 2.0 : 1.0) * (inputs_.hosts - 1);
  return base + (steps - outer) * std::max(inner, overhead) +
         outer * network_hop_us(Algorithm::kRing, protocol);
}

std::optional<Line> CostModel::ring(Function function, Protocol protocol) const {
  const Tracks& tracks = inputs_.ring;
  if (!known_to_rings(function) || tracks.channels == 0) return std::nullopt;
  double bus = tracks.channels * (inputs_.hosts <= 2 ? tracks.bw_intra : tracks.bw_inter);
  if (protocol == Protocol::kLl) bus = std::min(ll_limit(), bus * 0.5);
  if (protocol == Protocol::kLl128) {
    if (!ll128_fits(tracks)) return std::nullopt;
    bus =
        std::min(bus * 0.92, tracks.channels * constants_.plugin.ring_ll128_limit[row()][scale()]);
  }
  return Line{.latency_us = ring_latency(function, protocol),
              .gbps = bus * inputs_.ranks / ring_steps(function, inputs_.ranks)};
}

std::optional<Line> CostModel::tree(Function function, Protocol protocol) const {
  const Tracks& tracks = inputs_.tree;
  if (function != Function::kAllReduce || tracks.channels == 0) return std::nullopt;
  const PluginConstants& plugin = constants_.plugin;
  double bus = tracks.channels * (inputs_.hosts <= 2 ? tracks.bw_intra : tracks.bw_inter);
  bus = std::min(bus * 0.92, tracks.channels * plugin.tree_limit[row()][scale()]);
  if (protocol == Protocol::kLl) bus = std::min(bus / 3.8, ll_limit());
  if (protocol == Protocol::kLl128) {
    if (!ll128_fits(tracks)) return std::nullopt;
    bus = std::min(bus * (inputs_.hosts == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                   tracks.channels * plugin.tree_ll128_limit[row()][scale()]);
  }
  // All of a host's traffic passes its first GPU.
  if (tracks.pattern == graph::Pattern::kTree) bus *= 0.85;
  const double up_and_down =
      (inputs_.ranks_per_host() - 1) * inner_hop_us(tracks, Algorithm::kTree, protocol) +
      std::log2(inputs_.hosts) * network_hop_us(Algorithm::kTree, protocol);
  return Line{.latency_us = plugin.base_us[index_of(Algorithm::kTree)][index_of(protocol)] +
                            2.0 * up_and_down,
              .gbps = bus * 0.5};
}

std::optional<Line> CostModel::nvls(Function function, bool as_tree) const {
  if (!inputs_.nvls || inputs_.nvls->channels < 2 || constants_.nvls_efficiency <= 0.0) {
    return std::nullopt;
  }
  const bool all_reduce = function == Function::kAllReduce;
  if (!all_reduce && (as_tree || !in_parts(function))) return std::nullopt;
  if (as_tree ? inputs_.hosts == 1 : inputs_.hosts > 1 && !inputs_.collnet) return std::nullopt;
  const Tracks& tracks = *inputs_.nvls;
  const int local = inputs_.ranks_per_host();
  const double heads = tracks.channels;
  const double inner = tracks.bw_intra * constants_.nvls_efficiency * (heads - 1.0) / heads *
                       (all_reduce ? 2.0 : (local - 1.0) / local);
  double channel =
      std::min(inner, as_tree && inputs_.hosts <= 2 ? 2.0 * tracks.bw_inter : tracks.bw_inter);
  if (as_tree) channel = std::min(channel, constants_.plugin.nvls_tree_limit[row()][scale()]);
  const Algorithm algorithm = as_tree ? Algorithm::kNvlsTree : Algorithm::kNvls;
  double latency = inner_hop_us(tracks, algorithm, Protocol::kSimple);
  if (inputs_.hosts > 1) {
    latency += (as_tree ? 2.0 * std::log2(inputs_.hosts) : 1.0) *
               network_hop_us(algorithm, Protocol::kSimple);
  }
  const double bus = heads * channel;
  return Line{.latency_us = latency,
              .gbps = all_reduce ? bus * inputs_.ranks / ring_steps(function, inputs_.ranks) : bus};
}

std::optional<Line> CostModel::pat(Function function) const {
  if (!in_parts(function) || limits_.pat == 0 || inputs_.hosts == 1 ||
      inputs_.ranks_per_host() != 1 || inputs_.compute_capability < 60) {
    return std::nullopt;
  }
  const Tracks& tracks = inputs_.tree;
  const double base =
      constants_.plugin.base_us[index_of(Algorithm::kPat)][index_of(Protocol::kSimple)];
  return Line{
      .latency_us =
          base +
          std::log2(inputs_.hosts) * network_hop_us(Algorithm::kPat, Protocol::kSimple) / 3.5 +
          2.8 * inputs_.ranks,
      .gbps = 0.75 * tracks.channels * (inputs_.hosts <= 2 ? tracks.bw_intra : tracks.bw_inter)};
}

std::optional<Line> CostModel::collnet_direct(Function function) const {
  constexpr int kMostHeads = 8;
  if (!inputs_.collnet || !inputs_.collnet_direct || inputs_.hosts < 2 ||
      inputs_.ranks_per_host() > kMostHeads) {
    return std::nullopt;
  }
  const Tracks& tracks = *inputs_.collnet_direct;
  const double local = inputs_.ranks_per_host();
  const double latency =
      2.0 * (std::min(1.0, local - 1.0) *
                 inner_hop_us(tracks, Algorithm::kCollnetDirect, Protocol::kSimple) +
             0.4 * (local - 1.0)) +
      network_hop_us(Algorithm::kCollnetDirect, Protocol::kSimple);
  if (in_parts(function)) {
    return Line{.latency_us = latency,
                .gbps = local * std::min(tracks.bw_intra, 0.9 * tracks.bw_inter)};
  }
  if (function != Function::kAllReduce) return std::nullopt;
  double share = local / tracks.channels;
  if (share > 1.0) share = 0.5 * (share + 1.0);
  double bus = tracks.channels * tracks.bw_intra / share;
  if (inputs_.compute_capability >= 90) bus *= 0.85;
  return Line{.latency_us = latency, .gbps = 0.5 * bus};
}

std::optional<Line> CostModel::collnet_chain(Function function) const {
  if (!inputs_.collnet || !inputs_.collnet_chain || inputs_.hosts < 2 ||
      function != Function::kAllReduce) {
    return std::nullopt;
  }
  const Tracks& tracks = *inputs_.collnet_chain;
  return Line{.latency_us = 2.0 * (inputs_.ranks_per_host() - 1) *
                                inner_hop_us(tracks, Algorithm::kCollnetChain, Protocol::kSimple) +
                            network_hop_us(Algorithm::kCollnetChain, Protocol::kSimple),
              .gbps = 0.5 * tracks.channels * tracks.bw_intra};
}

std::optional<Line> CostModel::own(Function function, bool one_shot) const {
  if (!inputs_.direct || inputs_.hosts > 1) return std::nullopt;
  const OwnAlgorithm& figures = one_shot ? constants_.one_shot : constants_.direct;
  const double barriers = one_shot ? 1.0 : 2.0;
  const bool shared_memory = inputs_.exchange_gbps <= 0.0;
  const double carried = shared_memory ? constants_.memory_gbps : inputs_.exchange_gbps;
  const double traffic = shared_memory ? memory_traffic(function, inputs_.ranks, one_shot)
                                       : link_traffic(function, inputs_.ranks, one_shot);
  if (carried <= 0.0) return std::nullopt;
  return Line{
      .latency_us = figures.base_us + barriers * figures.hop_us + figures.rank_us * inputs_.ranks,
      .gbps = carried * figures.efficiency / traffic};
}

std::optional<Line> CostModel::compute(Function function, Algorithm algorithm,
                                       Protocol protocol) const {
  const bool simple = protocol == Protocol::kSimple;
  const bool host = constants_.family == Family::kHost;
  if (inputs_.ranks == 1) {
    // A copy at most: whatever runs it.
    const Algorithm any = host ? Algorithm::kDirect : Algorithm::kRing;
    return algorithm == any && simple ? std::optional(Line{0.0, kEverythingAtOnce}) : std::nullopt;
  }
  if (algorithm == Algorithm::kOneShot) {
    return protocol == Protocol::kLl ? own(function, true) : std::nullopt;
  }
  if (algorithm == Algorithm::kDirect) return simple ? own(function, false) : std::nullopt;
  if (host) return std::nullopt;
  if (algorithm == Algorithm::kRing) return ring(function, protocol);
  if (algorithm == Algorithm::kTree) return tree(function, protocol);
  if (!simple) return std::nullopt;
  switch (algorithm) {
    case Algorithm::kNvls:
      return nvls(function, false);
    case Algorithm::kNvlsTree:
      return nvls(function, true);
    case Algorithm::kPat:
      return pat(function);
    case Algorithm::kCollnetDirect:
      return collnet_direct(function);
    default:
      return collnet_chain(function);
  }
}

std::optional<Line> CostModel::line(Function function, Algorithm algorithm,
                                    Protocol protocol) const {
  return lines_[index_of(function)].at(algorithm, protocol);
}

std::optional<double> CostModel::time_us(const Query& query, Algorithm algorithm,
                                         Protocol protocol) const {
  const std::optional<Line> cell = line(query.function, algorithm, protocol);
  if (!cell) return std::nullopt;
  const bool on_switch = algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
  if (on_switch && !switch_reduces(query)) return std::nullopt;
  // Without registered buffers the copies cost what the switch saves.
  if (on_switch && in_parts(query.function) && !query.registered) return std::nullopt;
  const auto bytes = static_cast<double>(query.bytes);
  double latency = cell->latency_us;
  double gbps = cell->gbps;
  const bool ring = algorithm == Algorithm::kRing;
  if (algorithm == Algorithm::kTree) {
    gbps *= value_of(constants_.tree_correction[index_of(protocol)], bytes);
  }
  constexpr double kFullRing = 64.0;
  if (ring && protocol == Protocol::kSimple && inputs_.hosts > 1 &&
      query.function == Function::kAllReduce &&
      bytes >= kFullRing * inputs_.channels * inputs_.ranks) {
    latency *= constants_.full_ring_latency;
  }
  const double rounds = ring ? query.operations : std::ceil(query.operations / 8.0);
  double time = latency * rounds + bytes / (1000.0 * gbps);
  // Rings round at every hop: with 8 bits of precision that shows.
  const bool coarse = query.type == ncclFloat8e4m3 || query.type == ncclFloat8e5m2;
  constexpr int kMostCoarseRanks = 8;
  constexpr double kLastResort = 1024.0;
  if (ring && coarse && coll::shape_of(query.function).reduces &&
      inputs_.ranks > kMostCoarseRanks) {
    time *= kLastResort;
  }
  return time;
}

CostTable CostModel::table(const Query& query) const {
  CostTable table(kNotAvailable);
  for (std::size_t algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    for (std::size_t protocol = 0; protocol < kProtocols; ++protocol) {
      const std::optional<double> time =
          time_us(query, algorithm_at(algorithm), protocol_at(protocol));
      if (time) table.rows()[algorithm][protocol] = static_cast<float>(*time);
    }
  }
  return table;
}

int CostModel::threads_for(Algorithm algorithm, Protocol protocol) const noexcept {
  constexpr int kWide = 640;
  constexpr int kUsual = 512;
  constexpr int kNarrow = 256;
  constexpr double kSlowRing = 12.0;
  if (protocol == Protocol::kLl128) return limits_.ll128_threads.value_or(kWide);
  const bool slow = inputs_.ring.channels * inputs_.ring.bw_intra <= kSlowRing;
  switch (algorithm) {
    case Algorithm::kRing:
    case Algorithm::kTree:
      return limits_.threads.value_or(protocol == Protocol::kSimple && slow ? kNarrow : kUsual);
    case Algorithm::kDirect:
    case Algorithm::kOneShot:
      return constants_.family == Family::kHost ? 1 : kUsual;
    default:
      return kWide;
  }
}

int CostModel::threshold_for(Algorithm algorithm, Protocol protocol) const noexcept {
  constexpr int kLines = 8;
  constexpr int kSimple = 64;
  constexpr int kCollnet = 512;
  const bool ring = algorithm == Algorithm::kRing;
  if (limits_.thresholds && (ring || algorithm == Algorithm::kTree)) {
    return (*limits_.thresholds)[ring ? 1 : 0][index_of(protocol)];
  }
  if (algorithm == Algorithm::kCollnetDirect || algorithm == Algorithm::kCollnetChain) {
    return kCollnet;
  }
  if (protocol == Protocol::kSimple) return kSimple;
  return ring && protocol == Protocol::kLl ? kLines * inputs_.ranks : kLines;
}

Grid CostModel::grid(const Query& query, Algorithm algorithm, Protocol protocol) const {
  constexpr int kHalving = 128;
  Grid grid{.channels = std::clamp(inputs_.channels, limits_.min_channels, limits_.max_channels),
            .threads = threads_for(algorithm, protocol)};
  if (constants_.family == Family::kHost) return {.channels = 1, .threads = 1};
  if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree) {
    grid.channels =
        std::clamp(limits_.nvls_channels.value_or(inputs_.nvls_channels), 1, limits_.max_channels);
    return grid;
  }
  const auto needed = [&] {
    return static_cast<std::uint64_t>(grid.channels) * static_cast<std::uint64_t>(grid.threads) *
           static_cast<std::uint64_t>(threshold_for(algorithm, protocol));
  };
  if (algorithm == Algorithm::kPat) return grid;
  while (grid.channels > limits_.min_channels && query.bytes < needed()) --grid.channels;
  while (grid.threads % kHalving == 0 && query.bytes < needed()) grid.threads /= 2;
  return grid;
}

}  // namespace ripieno::tune

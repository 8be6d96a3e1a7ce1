#include "tune/tuner.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "coll/host_algorithms.h"

namespace ripieno::tune {
namespace {

using coll::Function;

/// The functions that plugins know.
bool plugins_know(Function function) noexcept {
  return index_of(function) <= index_of(Function::kAllReduce);
}

bool empty(const CostTable& table) noexcept {
  for (const auto& row : table.rows()) {
    if (std::any_of(row.begin(), row.end(), [](float cost) { return cost >= 0.0F; })) return false;
  }
  return true;
}

}  // namespace

Tuner::Tuner(Parts parts)
    : request_(parts.request),
      limits_(parts.limits),
      algorithms_(parts.algorithms),
      measured_(std::move(parts.measured)) {
  Constants constants = constants_of(parts.inputs.family());
  if (parts.plugins) {
    const int local = parts.inputs.ranks_per_host();
    plugin_ = start_plugin({.communicator = parts.communicator,
                            .ranks = parts.inputs.ranks,
                            .hosts = parts.inputs.hosts,
                            .nvlink_domains = parts.inputs.hosts,
                            .least_in_domain = local,
                            .most_in_domain = local},
                           constants.plugin);
  }
  model_ = std::make_unique<const CostModel>(parts.inputs, constants, limits_);
}

Tuner::Parts Tuner::parts_from_parameters(const CostInputs& inputs, int min_channels,
                                          int max_channels) {
  return {.inputs = inputs,
          .limits = Limits::from_parameters(min_channels, max_channels),
          .request = Request::from_parameters(),
          .measured = MeasuredTable::from_parameters()};
}

CostTable Tuner::available(const Query& query) const {
  CostTable costs = model_->table(query);
  for (std::size_t row = 0; row < kAlgorithms; ++row) {
    if ((algorithms_ >> row & 1) == 0) costs.rows()[row].fill(kNotAvailable);
  }
  return costs;
}

CostTable Tuner::table(const Query& query) const {
  CostTable costs = available(query);
  if (measured_) {
    for (std::size_t row = 0; row < kAlgorithms; ++row) {
      for (std::size_t column = 0; column < kProtocols; ++column) {
        float& cost = costs.rows()[row][column];
        if (cost < 0.0F) continue;
        const std::optional<double> us =
            measured_->time_us(query.function, model_->inputs().ranks, algorithm_at(row),
                               protocol_at(column), query.bytes);
        if (us) cost = static_cast<float>(*us * query.operations);
      }
    }
  }
  if (!request_.restricts(query.function)) return costs;
  CostTable allowed = costs;
  for (std::size_t row = 0; row < kAlgorithms; ++row) {
    for (std::size_t column = 0; column < kProtocols; ++column) {
      if (!request_.allows(query.function, algorithm_at(row), protocol_at(column))) {
        allowed.rows()[row][column] = kNotAvailable;
      }
    }
  }
  if (!empty(allowed) || empty(costs)) return allowed;
  warn_unsatisfiable(query.function);
  return costs;
}

void Tuner::warn_unsatisfiable(Function function) const {
  const std::uint32_t bit = std::uint32_t{1} << index_of(function);
  if ((warned_.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  log_warn(log_subsystem::kTuning,
           "NCCL_ALGO and NCCL_PROTO leave nothing that can run {} here ({} ranks on {} hosts, "
           "family {}); for this function they are ignored",
           coll::function_name(function), model_->inputs().ranks, model_->inputs().hosts,
           family_name(model_->inputs().family()));
}

void Tuner::ask_plugin(const Query& query, CostTable& costs, int& channels) const {
  CostTable asked = costs;
  try {
    plugin_->adjust(query, asked, channels);
  } catch (const Error& error) {
    plugin_failed_.store(true, std::memory_order_relaxed);
    log_warn(log_subsystem::kTuning, "tuner plugin {} is not asked again: {}", plugin_->name(),
             error.what());
    return;
  }
  for (std::size_t row = 0; row < kAlgorithms; ++row) {
    for (std::size_t column = 0; column < kProtocols; ++column) {
      float& cost = costs.rows()[row][column];
      const float said = asked.rows()[row][column];
      // What cannot run cannot be chosen, whatever the plugin wrote there.
      if (cost >= 0.0F && !std::isnan(said)) cost = std::max(said, kNotAvailable);
    }
  }
}

Decision Tuner::decide(const Query& query, bool one_shot_fits) const {
  CostTable costs = table(query);
  if (!one_shot_fits) {
    const auto rule_out = [](CostTable& one) {
      one.at(Algorithm::kOneShot, Protocol::kLl) = kNotAvailable;
    };
    rule_out(costs);
    if (empty(costs)) {
      // One-shot alone is allowed, and cannot: something else has to.
      costs = available(query);
      rule_out(costs);
    }
  }
  const CostTable before = costs;
  int channels = 0;
  if (plugin_ && plugins_know(query.function) && model_->inputs().ranks > 1 &&
      !plugin_failed_.load(std::memory_order_relaxed)) {
    ask_plugin(query, costs, channels);
    // A plugin that rules out everything rules out nothing.
    if (empty(costs)) costs = before;
  }
  Decision best;
  float least = 0.0F;
  for (std::size_t row = 0; row < kAlgorithms; ++row) {
    for (std::size_t column = 0; column < kProtocols; ++column) {
      const float cost = costs.rows()[row][column];
      if (cost < 0.0F || (best.possible && cost >= least)) continue;
      least = cost;
      best.possible = true;
      best.algorithm = algorithm_at(row);
      best.protocol = protocol_at(column);
      // A plugin's zero says "this one", not "in no time".
      best.us = before.rows()[row][column];
    }
  }
  if (!best.possible) return best;
  best.grid = model_->grid(query, best.algorithm, best.protocol);
  if (channels > 0) {
    best.grid.channels = std::clamp(channels, limits_.min_channels, limits_.max_channels);
  }
  return best;
}

std::uint64_t fingerprint_of(const Tuner::Parts& parts) noexcept {
  return parts.request.fingerprint() ^ (parts.measured ? parts.measured->fingerprint() * 3 : 0);
}

std::uint64_t buffer_bytes(const coll::Operation& operation, int ranks) noexcept {
  const coll::Shape shape = coll::shape_of(operation.function);
  const auto blocks =
      static_cast<std::uint64_t>(std::max(shape.blocks_in(ranks), shape.blocks_out(ranks)));
  return blocks * operation.count * type_size(operation.type);
}

Query query_of(const coll::Operation& operation, int ranks) noexcept {
  return {.function = operation.function,
          .bytes = buffer_bytes(operation, ranks),
          .type = operation.type,
          .reduce = operation.reduce};
}

}  // namespace ripieno::tune

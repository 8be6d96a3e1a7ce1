#include "topo/choices.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "command.h"
#include "tune/tuner.h"
#include "words.h"

namespace ripieno::tool {
namespace {

using coll::Function;
using nlohmann::ordered_json;
using tune::Algorithm;
using tune::Decision;
using tune::Protocol;
using tune::Query;

constexpr int kLargestPower = 33;
constexpr int kSmallestPower = 3;

tune::Tuner tuner_for(const Subject& subject) {
  const graph::GraphSet* set = subject.in_use();
  if (set == nullptr) {
    throw UsageError("there is no network: nothing can run over several hosts");
  }
  return tune::Tuner(
      tune::Tuner::parts_from_parameters(tune::inputs_of(*subject.paths, *set, subject.hosts)));
}

std::string cell_name(Algorithm algorithm, Protocol protocol) {
  return fmt::format("{}.{}", tune::algorithm_name(algorithm), tune::protocol_name(protocol));
}

/// What a wire between ranks sees, so that functions and numbers of ranks compare.
double bus_gbps(Function function, int ranks, std::uint64_t bytes, double us) {
  if (us <= 0.0) return 0.0;
  const double part = (ranks - 1.0) / ranks;
  const coll::Shape shape = coll::shape_of(function);
  double factor = shape.many_in || shape.many_out ? part : 1.0;
  if (function == Function::kAllReduce) factor = 2.0 * part;
  return factor * static_cast<double>(bytes) / us / 1000.0;
}

struct Cell {
  Algorithm algorithm;
  Protocol protocol;
  double us;
};

/// The fastest but for the chosen one.
std::optional<Cell> next_best(const tune::CostTable& costs, const Decision& chosen) {
  std::optional<Cell> best;
  for (std::size_t row = 0; row < tune::kAlgorithms; ++row) {
    for (std::size_t column = 0; column < tune::kProtocols; ++column) {
      const double us = costs.rows()[row][column];
      const Cell cell{tune::algorithm_at(row), tune::protocol_at(column), us};
      const bool is_chosen = cell.algorithm == chosen.algorithm && cell.protocol == chosen.protocol;
      if (us >= 0.0 && !is_chosen && (!best || us < best->us)) best = cell;
    }
  }
  return best;
}

std::string size_line(const tune::Tuner& tuner, const Query& query) {
  const Decision decision = tuner.decide(query);
  const std::string size = readable_bytes(query.bytes);
  if (!decision.possible) return fmt::format("{:>10}  nothing\n", size);
  std::string line =
      fmt::format("{:>10}  {:<20} {:>8} {:>8} {:>12.4g} {:>12.4g}", size,
                  cell_name(decision.algorithm, decision.protocol), decision.grid.channels,
                  decision.grid.threads, decision.us,
                  bus_gbps(query.function, tuner.model().inputs().ranks, query.bytes, decision.us));
  if (const std::optional<Cell> next = next_best(tuner.table(query), decision)) {
    line += fmt::format("   {} {:.4g}", cell_name(next->algorithm, next->protocol), next->us);
  }
  return line + '\n';
}

std::vector<std::uint64_t> table_sizes() {
  std::vector<std::uint64_t> sizes;
  for (int power = kSmallestPower; power <= kLargestPower; power += 3) {
    sizes.push_back(std::uint64_t{1} << power);
  }
  return sizes;
}

}  // namespace

std::string choices_text(const Subject& subject) {
  const tune::Tuner tuner = tuner_for(subject);
  const tune::CostInputs& inputs = tuner.model().inputs();
  std::string text = fmt::format(
      "predicted for {} ranks on {} {} (family {}); sizes are of the larger buffer\n", inputs.ranks,
      inputs.hosts, inputs.hosts == 1 ? "host" : "hosts", tune::family_name(inputs.family()));
  for (const Function function : tune::kCollectives) {
    text += fmt::format("\n{}\n{:>10}  {:<20} {:>8} {:>8} {:>12} {:>12}   {}\n",
                        coll::function_name(function), "size", "runs with", "channels", "threads",
                        "us", "busbw GB/s", "next best, us");
    for (const std::uint64_t bytes : table_sizes()) {
      text += size_line(tuner, {.function = function, .bytes = bytes});
    }
  }
  return text;
}

ordered_json choices_json(const Subject& subject) {
  const tune::Tuner tuner = tuner_for(subject);
  const int ranks = tuner.model().inputs().ranks;
  ordered_json json;
  for (const Function function : tune::kCollectives) {
    ordered_json rows = ordered_json::array();
    for (const std::uint64_t bytes : table_sizes()) {
      const Decision decision = tuner.decide({.function = function, .bytes = bytes});
      if (!decision.possible) continue;
      rows.push_back({{"bytes", bytes},
                      {"algorithm", tune::algorithm_name(decision.algorithm)},
                      {"protocol", tune::protocol_name(decision.protocol)},
                      {"channels", decision.grid.channels},
                      {"threads", decision.grid.threads},
                      {"us", decision.us},
                      {"busbw", bus_gbps(function, ranks, bytes, decision.us)}});
    }
    json[coll::function_name(function)] = std::move(rows);
  }
  return json;
}

ordered_json curves_json(const Subject& subject) {
  const tune::Tuner tuner = tuner_for(subject);
  const int ranks = tuner.model().inputs().ranks;
  ordered_json json = {{"family", tune::family_name(tuner.model().inputs().family())},
                       {"functions", ordered_json::array()}};
  for (const Function function : tune::kCollectives) {
    ordered_json curves = ordered_json::object();
    ordered_json sizes = ordered_json::array();
    ordered_json chosen = ordered_json::array();
    for (int power = kSmallestPower; power <= kLargestPower; ++power) {
      const Query query{.function = function, .bytes = std::uint64_t{1} << power};
      const Decision decision = tuner.decide(query);
      if (!decision.possible) continue;
      sizes.push_back(query.bytes);
      chosen.push_back({{"cell", cell_name(decision.algorithm, decision.protocol)},
                        {"us", decision.us},
                        {"channels", decision.grid.channels}});
      const tune::CostTable costs = tuner.table(query);
      for (std::size_t row = 0; row < tune::kAlgorithms; ++row) {
        for (std::size_t column = 0; column < tune::kProtocols; ++column) {
          const double us = costs.rows()[row][column];
          if (us < 0.0) continue;
          curves[cell_name(tune::algorithm_at(row), tune::protocol_at(column))].push_back(
              {query.bytes, bus_gbps(function, ranks, query.bytes, us)});
        }
      }
    }
    if (sizes.empty()) continue;
    json["functions"].push_back({{"name", coll::function_name(function)},
                                 {"sizes", std::move(sizes)},
                                 {"chosen", std::move(chosen)},
                                 {"curves", std::move(curves)}});
  }
  return json;
}

}  // namespace ripieno::tool

// How long an operation takes with each algorithm and protocol, predicted from a few numbers: every
// cell is a latency and a bandwidth, and a time is latency + bytes / bandwidth, with corrections
// where that is known to be wrong. All ranks hold equal inputs and so compute equal times.
#pragma once

#include <cstdint>
#include <optional>

#include "tune/constants.h"
#include "tune/inputs.h"
#include "tune/limits.h"

namespace ripieno::tune {

/// What is asked: an operation of a group, or several alike.
struct Query {
  coll::Function function = coll::Function::kAllReduce;
  /// Of the larger of a rank's two buffers.
  std::uint64_t bytes = 0;
  ncclDataType_t type = ncclFloat32;
  ReduceKind reduce = ReduceKind::kSum;
  int operations = 1;       ///< Alike, one after the other.
  bool registered = false;  ///< All ranks' buffers are.
};

/// A cell of the model.
struct Line {
  double latency_us = 0.0;
  double gbps = 0.0;
};

/// How many blocks of how many threads a cell runs with.
struct Grid {
  int channels = 1;
  int threads = 0;
};

class CostModel {
 public:
  CostModel(const CostInputs& inputs, const Constants& constants, const Limits& limits);

  /// Nothing where the algorithm does not exist for the function, or cannot run here.
  [[nodiscard]] std::optional<Line> line(coll::Function function, Algorithm algorithm,
                                         Protocol protocol) const;
  /// Predicted microseconds of a query; nothing where line() says nothing, or where type and
  /// operator rule it out.
  [[nodiscard]] std::optional<double> time_us(const Query& query, Algorithm algorithm,
                                              Protocol protocol) const;
  [[nodiscard]] CostTable table(const Query& query) const;
  [[nodiscard]] Grid grid(const Query& query, Algorithm algorithm, Protocol protocol) const;

  [[nodiscard]] const CostInputs& inputs() const noexcept { return inputs_; }

 private:
  class Links;
  [[nodiscard]] std::optional<Line> compute(coll::Function function, Algorithm algorithm,
                                            Protocol protocol) const;
  [[nodiscard]] std::optional<Line> ring(coll::Function function, Protocol protocol) const;
  [[nodiscard]] std::optional<Line> tree(coll::Function function, Protocol protocol) const;
  [[nodiscard]] std::optional<Line> nvls(coll::Function function, bool as_tree) const;
  [[nodiscard]] std::optional<Line> pat(coll::Function function) const;
  [[nodiscard]] std::optional<Line> collnet_direct(coll::Function function) const;
  [[nodiscard]] std::optional<Line> collnet_chain(coll::Function function) const;
  [[nodiscard]] std::optional<Line> own(coll::Function function, bool one_shot) const;
  [[nodiscard]] double ring_latency(coll::Function function, Protocol protocol) const;
  [[nodiscard]] bool ll128_fits(const Tracks& tracks) const noexcept;
  [[nodiscard]] double network_hop_us(Algorithm algorithm, Protocol protocol) const noexcept;
  [[nodiscard]] double inner_hop_us(const Tracks& tracks, Algorithm algorithm,
                                    Protocol protocol) const noexcept;
  [[nodiscard]] std::size_t scale() const noexcept;
  [[nodiscard]] std::size_t row() const noexcept;
  [[nodiscard]] double ll_limit() const noexcept;
  [[nodiscard]] int threads_for(Algorithm algorithm, Protocol protocol) const noexcept;
  [[nodiscard]] int threshold_for(Algorithm algorithm, Protocol protocol) const noexcept;

  CostInputs inputs_;
  Constants constants_;
  Limits limits_;
  std::array<Cells<std::optional<Line>>, kFunctions> lines_{};
};

}  // namespace ripieno::tune

// Decides for one communicator which algorithm and protocol an operation runs with. In order of
// precedence: what the variables rule out, what a tuner plugin says, what was measured, what the
// model predicts. All ranks decide alike; they compare fingerprints when they meet.
#pragma once

#include <atomic>
#include <memory>

#include "tune/cost_model.h"
#include "tune/measured.h"
#include "tune/plugin.h"
#include "tune/request.h"

namespace ripieno::tune {

struct Decision {
  Algorithm algorithm = Algorithm::kDirect;
  Protocol protocol = Protocol::kSimple;
  double us = 0.0;
  Grid grid{};
  bool possible = false;  ///< False: nothing can run the operation, the rest means nothing.
};

class Tuner {
 public:
  struct Parts {
    CostInputs inputs{};
    Limits limits{};
    Request request{};
    std::shared_ptr<const MeasuredTable> measured{};
    bool plugins = true;
    /// What the communicator's backend has, a bit for every algorithm.
    std::uint32_t algorithms = ~std::uint32_t{0};
    std::uint64_t communicator = 0;  ///< Its hash, for plugins.
  };
  explicit Tuner(Parts parts);
  /// Everything from the variables. Throws Error (ncclInvalidUsage) for what they say wrongly.
  [[nodiscard]] static Parts parts_from_parameters(const CostInputs& inputs, int min_channels = 1,
                                                   int max_channels = 64);

  /// Thread-safe. `one_shot_fits`: the operation's inputs are small enough for it.
  [[nodiscard]] Decision decide(const Query& query, bool one_shot_fits = true) const;
  /// Predicted or measured, before the plugin is asked; what the variables rule out is not
  /// available.
  [[nodiscard]] CostTable table(const Query& query) const;

  /// Whether anything but the model decides: then built-in thresholds do not hold.
  [[nodiscard]] bool steers() const noexcept {
    return plugin_ != nullptr || measured_ != nullptr || request_.restricts();
  }
  [[nodiscard]] const CostModel& model() const noexcept { return *model_; }

 private:
  /// What the model says of the algorithms that there are.
  [[nodiscard]] CostTable available(const Query& query) const;
  void ask_plugin(const Query& query, CostTable& costs, int& channels) const;
  void warn_unsatisfiable(coll::Function function) const;

  Request request_;
  Limits limits_;
  std::uint32_t algorithms_;
  std::shared_ptr<const MeasuredTable> measured_;
  std::unique_ptr<Plugin> plugin_;
  std::unique_ptr<const CostModel> model_;
  mutable std::atomic<bool> plugin_failed_{false};
  mutable std::atomic<std::uint32_t> warned_{0};  ///< A bit for every function.
};

[[nodiscard]] constexpr std::uint32_t bit_of(Algorithm algorithm) noexcept {
  return std::uint32_t{1} << index_of(algorithm);
}
/// Equal where users said the same: ranks compare it.
[[nodiscard]] std::uint64_t fingerprint_of(const Tuner::Parts& parts) noexcept;

/// The larger of a rank's two buffers: what sizes are counted in.
[[nodiscard]] std::uint64_t buffer_bytes(const coll::Operation& operation, int ranks) noexcept;
[[nodiscard]] Query query_of(const coll::Operation& operation, int ranks) noexcept;

}  // namespace ripieno::tune

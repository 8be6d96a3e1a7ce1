// Times that `ripieno tune` measured on a machine, from the file that RIPIENO_TUNING_FILE names.
// They take the place of predictions wherever they exist.
//
//     {"format": "ripieno-tuning", "version": 1, "machine": {…}, "series": [
//       {"function": "AllReduce", "ranks": 2, "algorithm": "OneShot", "protocol": "LL",
//        "points": [[8, 0.4], [64, 0.41], …]}, …]}
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tune/algorithm.h"

namespace ripieno::tune {

class MeasuredTable {
 public:
  struct Series {
    coll::Function function = coll::Function::kAllReduce;
    int ranks = 0;
    Algorithm algorithm = Algorithm::kDirect;
    Protocol protocol = Protocol::kSimple;
    std::vector<std::pair<std::uint64_t, double>> points{};  ///< Bytes and microseconds.
  };

  explicit MeasuredTable(std::vector<Series> series);
  /// Reads the text of such a file. Throws Error (ncclInvalidUsage), "source: what is wrong".
  [[nodiscard]] static MeasuredTable parse(std::string_view text, std::string_view source);
  /// The file that RIPIENO_TUNING_FILE names; null where it names none or one that cannot be used,
  /// which is warned about.
  [[nodiscard]] static std::shared_ptr<const MeasuredTable> from_parameters();

  /// Between points a straight line on logarithmic scales; beyond them the nearest point, in
  /// proportion to the size above the last. Nothing for what was not measured.
  [[nodiscard]] std::optional<double> time_us(coll::Function function, int ranks,
                                              Algorithm algorithm, Protocol protocol,
                                              std::uint64_t bytes) const noexcept;
  [[nodiscard]] const std::vector<Series>& series() const noexcept { return series_; }
  /// Equal where tables are equal: ranks compare it.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;

 private:
  std::vector<Series> series_;
};

/// The text of a file with these series; `machine` describes where they come from, as JSON.
[[nodiscard]] std::string write_measured(const std::vector<MeasuredTable::Series>& series,
                                         const std::string& machine_json);

}  // namespace ripieno::tune

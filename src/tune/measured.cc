#include "tune/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"

namespace ripieno::tune {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Series = MeasuredTable::Series;

constexpr StringParameter kTuningFile{"RIPIENO_TUNING_FILE"};
constexpr std::string_view kFormat = "ripieno-tuning";
constexpr int kVersion = 1;
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

/// Reads one series; every sentence says which one and what.
class SeriesReader {
 public:
  SeriesReader(const json& object, std::size_t number, std::string_view source)
      : object_(object), number_(number), source_(source) {}

  [[nodiscard]] Series read() const;

 private:
  static constexpr std::int64_t kMostRanks = 1 << 24;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ncclInvalidUsage, "{}: series {} {}", source_, number_, what);
  }

  [[nodiscard]] const json& member(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) fail(fmt::format("has no \"{}\"", name));
    return *found;
  }

  template <typename Parse>
  [[nodiscard]] auto word(const char* name, Parse parse) const {
    const json& value = member(name);
    if (!value.is_string()) fail(fmt::format("has a \"{}\" that is no text", name));
    const auto parsed = parse(value.get_ref<const std::string&>());
    if (!parsed) fail(fmt::format("has \"{}\": {}, which is not known", name, value.dump()));
    return parsed;
  }

  void read_points(Series& series) const {
    const json& points = member("points");
    if (!points.is_array() || points.empty()) fail("has no points");
    for (const json& point : points) {
      if (!point.is_array() || point.size() != 2 || !point[0].is_number_unsigned() ||
          !point[1].is_number()) {
        fail(fmt::format("has the point {}, which is not [bytes, microseconds]", point.dump()));
      }
      const auto bytes = point[0].get<std::uint64_t>();
      const auto us = point[1].get<double>();
      if (!std::isfinite(us) || us < 0.0) {
        fail(fmt::format("has a time of {} us", point[1].dump()));
      }
      if (!series.points.empty() && bytes <= series.points.back().first) {
        fail(fmt::format("has sizes that do not increase, at {} bytes", bytes));
      }
      series.points.emplace_back(bytes, us);
    }
  }

  const json& object_;
  std::size_t number_;
  std::string_view source_;
};

Series SeriesReader::read() const {
  if (!object_.is_object()) fail("is not an object");
  Series series;
  series.function = *word("function", parse_function);
  series.algorithm = *word("algorithm", parse_algorithm);
  series.protocol = *word("protocol", parse_protocol);
  const json& ranks = member("ranks");
  if (!ranks.is_number_integer() || ranks.get<std::int64_t>() < 1 ||
      ranks.get<std::int64_t>() > kMostRanks) {
    fail(fmt::format("has \"ranks\": {}, which is no number of ranks", ranks.dump()));
  }
  series.ranks = ranks.get<int>();
  read_points(series);
  return series;
}

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw Error::system("cannot open it", errno);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw Error::system("cannot read it", errno);
  if (text.size() > kMostBytes) throw Error(ncclInvalidUsage, "it is larger than 16 MiB");
  return text;
}

}  // namespace

MeasuredTable::MeasuredTable(std::vector<Series> series) : series_(std::move(series)) {}

MeasuredTable MeasuredTable::parse(std::string_view text, std::string_view source) {
  const auto fail = [&](std::string_view what) {
    return Error(ncclInvalidUsage, "{}: {}", source, what);
  };
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& error) {
    throw fail(fmt::format("not JSON: {}", error.what()));
  }
  if (!document.is_object() || !document.contains("format") || document["format"] != kFormat) {
    throw fail("not a tuning file (its \"format\" is not \"ripieno-tuning\")");
  }
  if (!document.contains("version") || document["version"] != kVersion) {
    throw fail("of another version than 1; make a new one with `ripieno tune`");
  }
  if (!document.contains("series") || !document["series"].is_array()) {
    throw fail("it has no list \"series\"");
  }
  std::vector<Series> all;
  for (const json& object : document["series"]) {
    all.push_back(SeriesReader(object, all.size(), source).read());
  }
  return MeasuredTable(std::move(all));
}

std::shared_ptr<const MeasuredTable> MeasuredTable::from_parameters() {
  if (!kTuningFile.is_set()) return nullptr;
  try {
    auto table = std::make_shared<const MeasuredTable>(
        parse(read_file(kTuningFile.value()), kTuningFile.value()));
    log_info(log_subsystem::kTuning, "{} measured series from {}", table->series().size(),
             kTuningFile.value());
    return table;
  } catch (const Error& error) {
    log_warn(log_subsystem::kTuning, "RIPIENO_TUNING_FILE='{}' (set by {}) is not used: {}",
             kTuningFile.value(), kTuningFile.source(), error.what());
    return nullptr;
  }
}

std::optional<double> MeasuredTable::time_us(coll::Function function, int ranks,
                                             Algorithm algorithm, Protocol protocol,
                                             std::uint64_t bytes) const noexcept {
  const auto found = std::find_if(series_.begin(), series_.end(), [&](const Series& one) {
    return one.function == function && one.ranks == ranks && one.algorithm == algorithm &&
           one.protocol == protocol;
  });
  if (found == series_.end()) return std::nullopt;
  const auto& points = found->points;
  const auto next =
      std::lower_bound(points.begin(), points.end(), bytes,
                       [](const auto& point, std::uint64_t size) { return point.first < size; });
  if (next == points.begin()) return next->second;
  const auto& [left, low] = *(next - 1);
  if (next == points.end()) {
    return low * static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(left, 1));
  }
  const auto& [right, high] = *next;
  if (left == 0 || low <= 0.0 || high <= 0.0) return high;
  const double part = std::log2(static_cast<double>(bytes) / static_cast<double>(left)) /
                      std::log2(static_cast<double>(right) / static_cast<double>(left));
  return low * std::pow(high / low, part);
}

std::uint64_t MeasuredTable::fingerprint() const noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (const Series& one : series_) {
    add(index_of(one.function));
    add(static_cast<std::uint64_t>(one.ranks));
    add(index_of(one.algorithm) * kProtocols + index_of(one.protocol));
    for (const auto& [bytes, us] : one.points) {
      add(bytes);
      add(std::bit_cast<std::uint64_t>(us));
    }
  }
  return hash;
}

std::string write_measured(const std::vector<Series>& series, const std::string& machine_json) {
  ordered_json document = {{"format", kFormat}, {"version", kVersion}};
  document["machine"] = ordered_json::parse(machine_json);
  document["series"] = ordered_json::array();
  for (const Series& one : series) {
    document["series"].push_back({{"function", coll::function_name(one.function)},
                                  {"ranks", one.ranks},
                                  {"algorithm", algorithm_name(one.algorithm)},
                                  {"protocol", protocol_name(one.protocol)},
                                  {"points", one.points}});
  }
  return document.dump(1) + '\n';
}

}  // namespace ripieno::tune

// The shape of the document, and writing it so that no failure is overlooked.
#include "perf/json_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "command.h"
#include "machine.h"

namespace ripieno::tool::perf {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Figures& figures) {
  Json json = {{"time_us", figures.time_us},
               {"algbw_gbps", figures.algorithm_gbps},
               {"busbw_gbps", figures.bus_gbps},
               {"wrong", nullptr}};
  if (figures.wrong) json["wrong"] = *figures.wrong;
  return json;
}

Json json_of(const Row& row) {
  return {{"bytes", row.bytes},
          {"count", row.count},
          {"type", row.type},
          {"op", row.op},
          {"root", row.root},
          {"out_of_place", json_of(row.out_of_place)},
          {"in_place", json_of(row.in_place)}};
}

Json json_of(const Settings& settings, std::size_t ranks) {
  return {{"collective", settings.collective->name},
          {"ranks", ranks},
          {"processes", ranks / static_cast<std::size_t>(settings.local_ranks())},
          {"threads", settings.threads},
          {"devices_per_thread", settings.devices},
          {"min_bytes", settings.first_bytes},
          {"max_bytes", settings.last_bytes},
          {"step_bytes", settings.step_bytes},
          {"step_factor", settings.step_factor},
          {"iterations", settings.iterations},
          {"aggregated_iterations", settings.aggregated},
          {"warmup_iterations", settings.warm_ups},
          {"graph_launches", settings.graph_launches},
          {"blocking", settings.blocking},
          {"checks", settings.checks},
          {"average", static_cast<int>(settings.time_of)},
          {"registration", static_cast<int>(settings.registration)}};
}

Json json_of(std::span<const RankPlace> ranks) {
  Json list = Json::array();
  for (const RankPlace& place : ranks) {
    list.push_back({{"host", place.host},
                    {"pid", place.process_id},
                    {"device", place.device},
                    {"bus_id", place.bus_id},
                    {"device_name", place.device_name}});
  }
  return list;
}

Json json_of(const Machine& machine) {
  return {{"host", machine.host},
          {"kernel", machine.kernel},
          {"processor", machine.processor},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory_bytes}};
}

}  // namespace

std::string json_document(const Settings& settings, std::span<const RankPlace> ranks,
                          std::span<const Row> rows, const Totals& totals, int nccl_version) {
  Json document;
  document["settings"] = json_of(settings, ranks.size());
  document["machine"] = json_of(describe_machine());
  document["versions"] = {
      {"library", RIPIENO_VERSION}, {"nccl", nccl_version}, {"compiler", compiler()}};
  document["ranks"] = json_of(ranks);
  document["rows"] = Json::array();
  for (const Row& row : rows) document["rows"].push_back(json_of(row));
  document["out_of_bounds"] = totals.bad_results;
  document["average_busbw_gbps"] =
      totals.figures == 0 ? 0 : totals.bus_gbps_sum / static_cast<double>(totals.figures);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

JsonFile::JsonFile(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
  if (!fd_) throw UsageError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

void JsonFile::write(const std::string& document) {
  const auto complain = [&] {
    throw UsageError(
        fmt::format("cannot write the results to {}: {}", path_, std::strerror(errno)));
  };
  struct stat status {};
  if (::fstat(fd_.get(), &status) == 0 && S_ISREG(status.st_mode) && ::ftruncate(fd_.get(), 0) != 0)
    complain();
  for (std::size_t written = 0; written < document.size();) {
    const ssize_t length = ::write(fd_.get(), document.data() + written, document.size() - written);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) complain();
    written += static_cast<std::size_t>(length);
  }
  if (::close(fd_.release()) != 0) complain();
}

}  // namespace ripieno::tool::perf

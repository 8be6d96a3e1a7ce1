// Column widths and number formats.
#include "perf/table.h"

#include <fmt/format.h>

namespace ripieno::tool::perf {
namespace {

/// Three digits are enough; a long time needs no fraction.
std::string time_text(double time_us) {
  if (time_us >= 10000) return fmt::format("{:.0f}", time_us);
  return fmt::format("{:.{}f}", time_us, time_us >= 100 ? 1 : 2);
}

std::string figures_text(const Figures& figures) {
  const std::string wrong = figures.wrong ? fmt::format("{}", *figures.wrong) : "N/A";
  return fmt::format(" {:>8} {:6.2f} {:6.2f} {:>6}", time_text(figures.time_us),
                     figures.algorithm_gbps, figures.bus_gbps, wrong);
}

std::string step_text(const Settings& settings) {
  if (settings.step_factor > 1) return fmt::format("x {:g}", settings.step_factor);
  return fmt::format("+ {}", settings.step_bytes);
}

std::string rank_line(std::size_t rank, const RankPlace& place) {
  return fmt::format("#  Rank {:>3} on {:<16} pid {:>7} device {:>2} [{}] {}\n", rank, place.host,
                     place.process_id, place.device, place.bus_id, place.device_name);
}

}  // namespace

void Totals::add(const Row& row) {
  for (const Figures* half : {&row.out_of_place, &row.in_place}) {
    bad_results += half->wrong.value_or(0) > 0 ? 1 : 0;
    bus_gbps_sum += half->bus_gbps;
    ++figures;
  }
}

std::string table_head(const Settings& settings, std::span<const RankPlace> ranks,
                       int nccl_version) {
  std::string text = fmt::format("# ripieno perf {}: Ripieno {}, NCCL API {}.{}.{}\n",
                                 settings.collective->name, RIPIENO_VERSION, nccl_version / 10000,
                                 nccl_version / 100 % 100, nccl_version % 100);
  text += fmt::format("# ranks: {} = processes {} x threads {} x devices {}\n", ranks.size(),
                      ranks.size() / static_cast<std::size_t>(settings.local_ranks()),
                      settings.threads, settings.devices);
  text += fmt::format(
      "# bytes: {} to {}, step {}; iterations {}, warm-up {}, in a group {}, check {}, graph "
      "{}\n#\n",
      settings.first_bytes, settings.last_bytes, step_text(settings), settings.iterations,
      settings.warm_ups, settings.aggregated, settings.checks, settings.graph_launches);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) text += rank_line(rank, ranks[rank]);
  text += fmt::format("#\n#{:>43} {:^29} {:^29}\n", "", "out-of-place", "in-place");
  text += fmt::format("#{:>10} {:>11} {:>8} {:>6} {:>4}", "size", "count", "type", "redop", "root");
  for (int half = 0; half < 2; ++half)
    text += fmt::format(" {:>8} {:>6} {:>6} {:>6}", "time", "algbw", "busbw", "#wrong");
  text += fmt::format("\n#{:>10} {:>11} {:>8} {:>6} {:>4}", "(B)", "(elements)", "", "", "");
  for (int half = 0; half < 2; ++half)
    text += fmt::format(" {:>8} {:>6} {:>6} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  return text + "\n";
}

std::string table_row(const Row& row) {
  return fmt::format("{:>11} {:>11} {:>8} {:>6} {:>4}{}{}\n", row.bytes, row.count, row.type,
                     row.op, row.root, figures_text(row.out_of_place), figures_text(row.in_place));
}

std::string table_foot(const Totals& totals) {
  const double average =
      totals.figures == 0 ? 0 : totals.bus_gbps_sum / static_cast<double>(totals.figures);
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n#\n",
                     totals.bad_results, totals.bad_results == 0 ? "OK" : "FAILED", average);
}

}  // namespace ripieno::tool::perf

// Ranks are made, joined, measured by their threads and let go; process 0 prints.
#include "perf/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/process.h"
#include "command.h"
#include "perf/failure.h"
#include "words.h"

namespace ripieno::tool::perf {
namespace {

/// What processes tell each other of a rank for the head of the table.
struct PlaceRecord {
  char host[64] = {};
  char bus_id[20] = {};
  char device_name[60] = {};
  std::int32_t process_id = 0;
  std::int32_t device = 0;
};

template <std::size_t kSize>
void put(char (&field)[kSize], std::string_view text) {
  std::memcpy(field, text.data(), std::min(text.size(), kSize - 1));
}

/// Ends the process with one sentence; of several threads that fail, the first one speaks.
[[noreturn]] void end_process(const char* sentence) {
  static std::mutex mutex;
  mutex.lock();  // Never unlocked: nobody else is to speak.
  fmt::print(stderr, "ripieno perf: {}\n", sentence);
  std::fflush(nullptr);
  ::_exit(kExitFailed);
}

}  // namespace

Session::Session(const Settings& settings, int local_process, Team team, JsonFile* json)
    : settings_(settings),
      local_process_(local_process),
      team_(std::move(team)),
      json_(json),
      ranks_(team_.processes() * settings.local_ranks()),
      threads_(settings.threads),
      reports_(static_cast<std::size_t>(settings.local_ranks())),
      watchdog_(settings.timeout),
      progress_(team_.process() == 0) {}

int Session::run() {
  validate();
  try {
    check(ncclGetVersion(&nccl_version_), "ncclGetVersion");
    make_ranks();
    watchdog_.begin("the start");
    share_id();
    if (!settings_.parallel_init) join(workers_);
    print_head();
    measure_all();
    return finish();
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    progress_.clear();
    end_process(error.what());
  }
}

void Session::validate() const {
  if (settings_.root >= ranks_) {
    throw UsageError(
        fmt::format("--root is {}, but there are only {} ranks", settings_.root, ranks_));
  }
}

void Session::make_ranks() {
  device::Backend& backend = device::backend();
  const int local_ranks = settings_.local_ranks();
  for (int thread = 0; thread < settings_.threads; ++thread) {
    std::vector<std::unique_ptr<Rank>> ranks;
    for (int place = 0; place < settings_.devices; ++place) {
      const int local = thread * settings_.devices + place;
      const int device = (local_process_ * local_ranks + local) % backend.device_count();
      ranks.push_back(std::make_unique<Rank>(settings_, team_.process() * local_ranks + local,
                                             ranks_, backend.device(device)));
    }
    workers_.push_back(std::make_unique<Worker>(settings_, std::move(ranks)));
  }
}

template <typename Record>
std::vector<Record> Session::gather(const std::vector<Record>& mine) {
  const std::vector<std::byte> bytes = team_.all_gather(std::as_bytes(std::span(mine)));
  std::vector<Record> all(bytes.size() / sizeof(Record));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

void Session::share_id() {
  std::vector<ncclUniqueId> ids(1);
  if (team_.process() == 0) check(ncclGetUniqueId(ids.data()), "ncclGetUniqueId");
  id_ = gather(ids).front();
}

void Session::join(std::span<const std::unique_ptr<Worker>> workers) {
  const bool several = workers.size() * workers.front()->ranks().size() > 1;
  if (several) check(ncclGroupStart(), "ncclGroupStart");
  for (const auto& worker : workers) {
    for (const auto& rank : worker->ranks()) rank->join(id_);
  }
  if (several) check(ncclGroupEnd(), "initialising the communicator");
}

void Session::print_head() {
  std::vector<PlaceRecord> records;
  for (const auto& worker : workers_) {
    for (const auto& rank : worker->ranks()) {
      PlaceRecord& record = records.emplace_back();
      put(record.host, host_name());
      put(record.bus_id, rank->device().bus_id());
      put(record.device_name, rank->device().name());
      record.process_id = process_id();
      record.device = rank->device().ordinal();
    }
  }
  for (const PlaceRecord& record : gather(records)) {
    places_.push_back(
        {record.host, record.process_id, record.device, record.bus_id, record.device_name});
  }
  if (team_.process() != 0) return;
  fmt::print("{}", table_head(settings_, places_, nccl_version_));
  std::fflush(stdout);
}

std::vector<Case> Session::make_cases() const {
  const Collective& collective = *settings_.collective;
  std::vector<std::optional<Operator>> operators(1);
  if (collective.reduces) operators.assign(settings_.operators.begin(), settings_.operators.end());
  std::vector<int> roots = {collective.rooted ? settings_.root : -1};
  if (collective.rooted && settings_.root < 0) {
    roots.resize(static_cast<std::size_t>(ranks_));
    for (int root = 0; root < ranks_; ++root) roots[static_cast<std::size_t>(root)] = root;
  }
  std::vector<Case> cases;
  for (const DataType& type : settings_.types) {
    for (const std::optional<Operator>& op : operators) {
      for (const int root : roots) {
        for (const std::uint64_t bytes : settings_.sizes()) {
          const Counts counts = collective.counts(bytes, type.size, ranks_);
          cases.push_back({type, op, root, counts.larger() * type.size, counts});
        }
      }
    }
  }
  return cases;
}

void Session::measure_all() {
  const std::vector<Case> cases = make_cases();
  std::vector<std::jthread> threads;
  for (int thread = 1; thread < settings_.threads; ++thread) {
    threads.push_back(start_thread(fmt::format("ripieno-perf-{}", thread), [this, thread, &cases] {
      try {
        work(thread, cases);
      } catch (const std::exception& error) {
        end_process(error.what());
      }
    }));
  }
  // Caught here as well: unwinding further would wait for the other threads.
  try {
    work(0, cases);
  } catch (const std::exception& error) {
    progress_.clear();
    end_process(error.what());
  }
}

void Session::work(int thread, const std::vector<Case>& cases) {
  Worker& worker = *workers_[static_cast<std::size_t>(thread)];
  if (settings_.parallel_init)
    join(std::span(workers_).subspan(static_cast<std::size_t>(thread), 1));
  for (const auto& rank : worker.ranks()) rank->prepare(settings_.sizes().back());
  std::uint64_t seed = 0;
  for (const Case& measured : cases) {
    if (thread == 0) {
      const std::string what = fmt::format("{} of {} {}", settings_.collective->name,
                                           readable_bytes(measured.bytes), measured.type.name);
      watchdog_.begin(what);
      progress_.show(
          fmt::format("{} ({} of {})", what, &measured - cases.data() + 1, cases.size()));
    }
    for (int half = 0; half < 2; ++half) {
      const Measured got = worker.measure(measured, half == 1, seed += 1U << 20);
      const std::span<Report> mine = std::span(reports_).subspan(
          static_cast<std::size_t>(thread) * worker.ranks().size(), worker.ranks().size());
      for (std::size_t place = 0; place < mine.size(); ++place) {
        mine[place].seconds[half] = got.each.count();
        mine[place].wrong[half] = got.wrong[place];
      }
    }
    threads_.arrive_and_wait();
    if (thread == 0) finish_case(measured);
    threads_.arrive_and_wait();
  }
  for (const auto& rank : worker.ranks()) rank->leave();
}

void Session::finish_case(const Case& measured) {
  const std::vector<Report> reports = gather(reports_);
  const Row row = make_row(measured, reports);
  totals_.add(row);
  if (team_.process() != 0) return;
  rows_.push_back(row);
  progress_.clear();
  fmt::print("{}", table_row(row));
  std::fflush(stdout);
}

Row Session::make_row(const Case& measured, std::span<const Report> reports) const {
  Row row;
  row.bytes = measured.bytes;
  row.count = measured.counts.argument;
  row.type = measured.type.name;
  row.op = measured.op ? name_of(*measured.op) : "none";
  row.root = measured.root;
  for (int half = 0; half < 2; ++half) {
    Figures& figures = half == 0 ? row.out_of_place : row.in_place;
    const double seconds = time_over(reports, half);
    figures.time_us = seconds * 1e6;
    figures.algorithm_gbps = seconds > 0 ? static_cast<double>(measured.bytes) / seconds / 1e9 : 0;
    figures.bus_gbps = figures.algorithm_gbps * settings_.collective->bus_factor(ranks_);
    if (settings_.checks == 0 || (half == 1 && !settings_.collective->checks_in_place)) continue;
    figures.wrong = 0;
    for (const Report& report : reports) *figures.wrong += report.wrong[half];
  }
  return row;
}

double Session::time_over(std::span<const Report> reports, int half) const {
  std::vector<double> seconds;
  for (const Report& report : reports) seconds.push_back(report.seconds[half]);
  switch (settings_.time_of) {
    case TimeOf::kRankZero:
      return seconds.front();
    case TimeOf::kMinimum:
      return std::ranges::min(seconds);
    case TimeOf::kMaximum:
      return std::ranges::max(seconds);
    case TimeOf::kAverage:
      break;
  }
  double sum = 0;
  for (const double one : seconds) sum += one;
  return sum / static_cast<double>(seconds.size());
}

int Session::finish() {
  watchdog_.end();
  if (team_.process() == 0) {
    fmt::print("{}", table_foot(totals_));
    if (std::fflush(stdout) != 0) throw Failure("cannot write the table to standard output");
    if (json_ != nullptr)
      json_->write(json_document(settings_, places_, rows_, totals_, nccl_version_));
  }
  return totals_.bad_results == 0 ? kExitOk : kExitFailed;
}

}  // namespace ripieno::tool::perf

// The order of a measurement, as one thread sees it.
#include "perf/worker.h"

#include "perf/failure.h"

namespace ripieno::tool::perf {
namespace {

using Clock = std::chrono::steady_clock;

/// A group of the library, ended in any case: an open group would swallow what follows.
template <typename Body>
void in_group(Body&& body) {
  check(ncclGroupStart(), "ncclGroupStart");
  try {
    body();
  } catch (...) {
    static_cast<void>(ncclGroupEnd());
    throw;
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
}

}  // namespace

Worker::Worker(const Settings& settings, std::vector<std::unique_ptr<Rank>> ranks)
    : settings_(settings), ranks_(std::move(ranks)) {}

Measured Worker::measure(const Case& measured, bool in_place, std::uint64_t seed) {
  for (const auto& rank : ranks_) {
    rank->begin(measured, in_place);
    rank->fill(seed);
  }
  for (int round = 0; round < settings_.warm_ups; ++round) launch_once();
  wait_all();

  Measured result;
  result.each = settings_.graph_launches > 0 ? time_graph() : time_launches();
  result.wrong.resize(ranks_.size());
  const bool checked = !in_place || settings_.collective->checks_in_place;
  for (int round = 0; checked && round < settings_.checks; ++round) {
    for (const auto& rank : ranks_) rank->fill(seed + 1 + static_cast<std::uint64_t>(round));
    if (ranks_.size() == 1) {
      ranks_.front()->launch();
    } else {
      in_group([&] {
        for (const auto& rank : ranks_) rank->launch();
      });
    }
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
      result.wrong[index] += ranks_[index]->count_wrong();
    }
  }
  for (const auto& rank : ranks_) rank->end();
  return result;
}

void Worker::launch_once() {
  if (ranks_.size() == 1 && settings_.aggregated == 1) {
    ranks_.front()->launch();
    return;
  }
  in_group([&] {
    for (int round = 0; round < settings_.aggregated; ++round) {
      for (const auto& rank : ranks_) rank->launch();
    }
  });
}

void Worker::wait_all() {
  for (const auto& rank : ranks_) rank->wait();
}

void Worker::barrier() {
  if (ranks_.size() == 1) {
    ranks_.front()->launch_barrier();
  } else {
    in_group([&] {
      for (const auto& rank : ranks_) rank->launch_barrier();
    });
  }
  wait_all();
}

std::chrono::duration<double> Worker::time_launches() {
  barrier();
  const Clock::time_point begin = Clock::now();
  for (int iteration = 0; iteration < settings_.iterations; ++iteration) {
    launch_once();
    if (settings_.blocking) wait_all();
  }
  wait_all();
  return std::chrono::duration<double>(Clock::now() - begin) /
         (settings_.iterations * settings_.aggregated);
}

std::chrono::duration<double> Worker::time_graph() {
  const std::vector<cudaGraphExec_t> graphs = capture_iterations();
  barrier();
  const Clock::time_point begin = Clock::now();
  for (int launch = 0; launch < settings_.graph_launches; ++launch) {
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
      ranks_[index]->device().launch_graph(graphs[index], ranks_[index]->stream());
    }
  }
  wait_all();
  const std::chrono::duration<double> whole = Clock::now() - begin;
  for (std::size_t index = 0; index < ranks_.size(); ++index)
    ranks_[index]->device().destroy_graph(graphs[index]);
  const double operations = static_cast<double>(settings_.iterations) * settings_.aggregated;
  return whole / (operations * settings_.graph_launches);
}

std::vector<cudaGraphExec_t> Worker::capture_iterations() {
  for (const auto& rank : ranks_) rank->device().begin_capture(rank->stream());
  for (int iteration = 0; iteration < settings_.iterations; ++iteration) launch_once();
  std::vector<cudaGraphExec_t> graphs;
  for (const auto& rank : ranks_) graphs.push_back(rank->device().end_capture(rank->stream()));
  return graphs;
}

}  // namespace ripieno::tool::perf

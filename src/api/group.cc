// Running a group.
#include "api/group.h"

#include <algorithm>
#include <utility>

#include "api/border.h"
#include "api/declare.h"
#include "device/device.h"
#include "plan/executor.h"

namespace ripieno::api {
namespace {

/// Orders `later` behind all work that `earlier` holds now.
void chain_streams(device::Device& device, cudaStream_t earlier, cudaStream_t later) {
  const cudaEvent_t event = device.create_event();
  device.record(event, earlier);
  device.wait(later, event);
  device.destroy_event(event);
}

}  // namespace

Group& Group::current() noexcept {
  thread_local Group group;
  return group;
}

void Group::remember_failure(const Error& error) {
  if (is_open() && !failure_) {
    failure_ = std::make_unique<Error>(error);
  }
}

void Group::add_operation(std::shared_ptr<comm::Communicator> communicator, cudaStream_t given,
                          const coll::Operation& operation) {
  const cudaStream_t stream =
      device::backend().device(communicator->device()).explicit_stream(given);
  auto work = std::find_if(works_.begin(), works_.end(), [&](const Work& candidate) {
    return candidate.communicator == communicator;
  });
  if (work == works_.end()) {
    works_.push_back({.communicator = std::move(communicator), .streams = {}, .operations = {}});
    work = works_.end() - 1;
  }
  if (std::find(work->streams.begin(), work->streams.end(), stream) == work->streams.end()) {
    work->streams.push_back(stream);
  }
  work->operations.push_back(operation);
}

void Group::add_job(Job job) {
  if (!job.blocking()) {
    job.deliver();
  }
  jobs_.push_back(std::move(job));
}

void Group::require_one_mode(const std::vector<Job>& jobs, const std::vector<Work>& works) {
  bool blocking = false;
  bool non_blocking = false;
  for (const Job& job : jobs) {
    (job.blocking() ? blocking : non_blocking) = true;
  }
  for (const Work& work : works) {
    (work.communicator->config().blocking ? blocking : non_blocking) = true;
  }
  if (blocking && non_blocking) {
    throw Error(ncclInvalidArgument,
                "this group mixes blocking and non-blocking communicators; use two groups");
  }
  if (!jobs.empty() && !works.empty()) {
    throw Error(ncclInvalidUsage,
                "this group initialises communicators or registers windows, and starts operations; "
                "use one group for each");
  }
}

ncclResult_t Group::close() {
  if (depth_ == 0) {
    throw Error(ncclInvalidUsage,
                "there is no open group: each ncclGroupEnd() needs an ncclGroupStart() "
                "by the same thread before it");
  }
  if (--depth_ > 0) {
    return ncclSuccess;
  }
  const std::vector<Job> jobs = std::exchange(jobs_, {});
  std::vector<Work> works = std::exchange(works_, {});
  const std::unique_ptr<Error> failure = std::exchange(failure_, nullptr);
  try {
    if (failure) {
      throw Error(*failure);
    }
    require_one_mode(jobs, works);
  } catch (const Error&) {
    for (const Job& job : jobs) {
      if (!job.blocking()) {
        job.withdraw();
      }
    }
    throw;
  }
  if (!jobs.empty()) {
    return run_jobs(jobs);
  }
  run_operations(std::move(works));
  return ncclSuccess;
}

ncclResult_t Group::run_jobs(const std::vector<Job>& jobs) {
  if (jobs.front().blocking()) {
    run_together(jobs);
    return ncclSuccess;
  }
  run_in_background(jobs);
  return ncclInProgress;
}

void Group::run_operations(std::vector<Work> works) {
  device::Backend& backend = device::backend();
  std::vector<plan::StreamBatch> batches;
  batches.reserve(works.size());
  for (Work& work : works) {
    // All run in the first stream; the others wait before and after, as if the work stood in each
    // of them.
    device::Device& device = backend.device(work.communicator->device());
    const cudaStream_t first = work.streams.front();
    for (std::size_t other = 1; other < work.streams.size(); ++other) {
      chain_streams(device, work.streams[other], first);
    }
    batches.push_back({.stream = first,
                       .batch = {.sequencer = work.communicator->sequencer(),
                                 .operations = std::move(work.operations)}});
  }
  plan::start(batches);
  for (const Work& work : works) {
    device::Device& device = backend.device(work.communicator->device());
    for (std::size_t other = 1; other < work.streams.size(); ++other) {
      chain_streams(device, work.streams.front(), work.streams[other]);
    }
  }
}

}  // namespace ripieno::api

RIPIENO_API(ncclGroupStart, group_start);
ncclResult_t ripieno::api::group_start() {
  Group::current().open();
  return ncclSuccess;
}

RIPIENO_API(ncclGroupEnd, group_end);
ncclResult_t ripieno::api::group_end() {
  return guard("ncclGroupEnd", [] { return Group::current().close(); });
}

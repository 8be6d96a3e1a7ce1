// ncclGroupSimulateEnd: what a group would take, by the cost model, without running it.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "api/border.h"
#include "api/declare.h"
#include "api/group.h"
#include "tune/tuner.h"

namespace ripieno::api {
namespace {

constexpr unsigned kMagic = 0x74685283;

/// What every version of the struct starts with: size, magic, version.
constexpr std::size_t kHeaderBytes = offsetof(ncclSimInfo_t, estimatedTime);

void check(const ncclSimInfo_t& info) {
  if (info.magic != kMagic) {
    throw Error(ncclInvalidArgument,
                "simInfo.magic is {:#x} instead of {:#x}; start from NCCL_SIM_INFO_INITIALIZER",
                info.magic, kMagic);
  }
  if (info.size < kHeaderBytes + sizeof info.estimatedTime) {
    throw Error(ncclInvalidArgument,
                "simInfo.size is {}, which has no room for the estimate; start from "
                "NCCL_SIM_INFO_INITIALIZER",
                info.size);
  }
}

double estimate(const coll::Operation& operation, const tune::Tuner& tuner) {
  if (coll::is_message(operation.function)) return 0.0;
  const tune::Decision decision =
      tuner.decide(tune::query_of(operation, tuner.model().inputs().ranks));
  return decision.possible ? decision.us : 0.0;
}

}  // namespace

double Group::simulate() {
  if (depth_ == 0) {
    throw Error(ncclInvalidUsage,
                "there is no open group: ncclGroupSimulateEnd() ends a group of this thread");
  }
  if (--depth_ > 0) return 0.0;
  const std::vector<Job> jobs = std::exchange(jobs_, {});
  const std::vector<Work> works = std::exchange(works_, {});
  const std::unique_ptr<Error> failure = std::exchange(failure_, nullptr);
  for (const Job& job : jobs) {
    if (!job.blocking()) job.withdraw();
  }
  if (failure) throw Error(*failure);
  if (!jobs.empty()) {
    throw Error(ncclInvalidUsage,
                "only operations can be simulated; this group makes communicators or registers "
                "windows");
  }
  // Operations of a communicator run one after the other, communicators beside each other.
  double longest = 0.0;
  for (const Work& work : works) {
    const tune::Tuner* const tuner = work.communicator->sequencer()->tuner();
    double together = 0.0;
    for (const coll::Operation& operation : work.operations) {
      if (tuner != nullptr) together += estimate(operation, *tuner);
    }
    longest = std::max(longest, together);
  }
  return longest;
}

}  // namespace ripieno::api

RIPIENO_API(ncclGroupSimulateEnd, group_simulate_end);
ncclResult_t ripieno::api::group_simulate_end(ncclSimInfo_t* info) {
  return guard("ncclGroupSimulateEnd", [&] {
    if (info != nullptr) check(*info);
    const double us = Group::current().simulate();
    if (info != nullptr) info->estimatedTime = static_cast<float>(us);
    return ncclSuccess;
  });
}

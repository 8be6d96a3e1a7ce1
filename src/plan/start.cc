// Tasks or launches.
#include "device/device.h"
#include "plan/executor.h"

namespace ripieno::plan {

void start(std::span<StreamBatch> batches) {
  if (batches.empty()) {
    return;
  }
  if (Executor* const executor = batches.front().batch.sequencer->executor()) {
    executor->start(batches);
    return;
  }
  std::vector<device::Submission> submissions;
  submissions.reserve(batches.size());
  for (StreamBatch& one : batches) {
    submissions.push_back({.stream = one.stream, .task = make_task(std::move(one.batch))});
  }
  device::backend().submit(submissions);
}

}  // namespace ripieno::plan

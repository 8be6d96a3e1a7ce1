// From the operations of a group to tasks in streams. A plan is what one rank does at one group
// end: its collectives one after the other, and beside them all its messages, those of each peer
// and direction in order.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "coll/operation.h"
#include "device/device.h"
#include "plan/sequencer.h"

namespace ripieno::plan {

/// The operations of one communicator at one group end, in call order.
struct Batch {
  std::shared_ptr<Sequencer> sequencer;
  std::vector<coll::Operation> operations;
};

/// Turns one operation into a task.
[[nodiscard]] std::unique_ptr<device::Task> make_task(std::shared_ptr<Sequencer> sequencer,
                                                      const coll::Operation& operation);

/// Turns a batch into a task. Throws Error (ncclInvalidUsage) when messages to oneself do not pair
/// up.
[[nodiscard]] std::unique_ptr<device::Task> make_task(Batch batch);

}  // namespace ripieno::plan

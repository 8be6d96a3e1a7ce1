// The other way to run operations: on a device that executes by itself. Where the backend is one
// of GPUs, every rank has an executor, which turns the operations of a group into launches.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <span>

#include "plan/plan.h"

namespace ripieno::plan {

/// What one rank does at one group end, and in which stream.
struct StreamBatch {
  cudaStream_t stream;
  Batch batch;
};

/// Of one rank. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Starts batches in their streams; all belong to ranks with executors of this kind. Throws
  /// Error.
  virtual void start(std::span<StreamBatch> batches) = 0;
  /// The rank has failed or was aborted: nothing of its work in streams may wait any longer.
  virtual void release() noexcept = 0;
  /// Waits until all that was started has ended; false when `timeout` passes first.
  [[nodiscard]] virtual bool wait(std::chrono::milliseconds timeout) noexcept = 0;
};

/// Starts what a thread collected for one group end: tasks on the host, launches on GPUs. Throws
/// Error.
void start(std::span<StreamBatch> batches);

}  // namespace ripieno::plan

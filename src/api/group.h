// Groups: what is called between ncclGroupStart and ncclGroupEnd is collected per thread and
// happens at the outermost end, all of it together, so that one thread can drive several ranks and
// messages can cross.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <memory>
#include <vector>

#include "api/border.h"
#include "api/job.h"
#include "base/error.h"
#include "coll/operation.h"
#include "comm/communicator.h"

namespace ripieno::api {

/// The calling thread's open group.
class Group {
 public:
  static Group& current() noexcept;

  void open() noexcept { ++depth_; }
  /// Closes one level; at the outermost runs everything. Throws Error: ncclInvalidUsage without
  /// open group, else the first failure among what was collected.
  ncclResult_t close();
  /// Closes the outermost level without running anything, and answers how many microseconds it
  /// would have taken. Throws Error as close() does, and where the group holds jobs.
  [[nodiscard]] double simulate();
  [[nodiscard]] bool is_open() const noexcept { return depth_ > 0; }

  /// A call inside the group failed: close() will say so and run nothing.
  void remember_failure(const Error& error);

  void add_operation(std::shared_ptr<comm::Communicator> communicator, cudaStream_t stream,
                     const coll::Operation& operation);
  /// Something to do at the end; that of a non-blocking communicator is delivered at once.
  void add_job(Job job);

 private:
  /// The operations of one communicator, in call order, and the streams they were called on.
  struct Work {
    std::shared_ptr<comm::Communicator> communicator;
    std::vector<cudaStream_t> streams;
    std::vector<coll::Operation> operations;
  };

  static void require_one_mode(const std::vector<Job>& jobs, const std::vector<Work>& works);
  static ncclResult_t run_jobs(const std::vector<Job>& jobs);
  static void run_operations(std::vector<Work> works);

  int depth_ = 0;
  std::vector<Job> jobs_;
  std::vector<Work> works_;
  std::unique_ptr<Error> failure_;
};

/// guard() for calls that may stand in a group: its end says again what failed.
template <typename Body>
ncclResult_t guard_in_group(const char* function, Body&& body) noexcept {
  return guard(function, [&] {
    try {
      return body();
    } catch (const Error& error) {
      Group::current().remember_failure(error);
      throw;
    }
  });
}

}  // namespace ripieno::api

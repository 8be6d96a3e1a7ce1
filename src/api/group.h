// Groups: what is called between ncclGroupStart and ncclGroupEnd is collected per thread and
// happens at the outermost end, all of it together, so that one thread can drive several ranks and
// messages can cross.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <memory>
#include <vector>

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
  [[nodiscard]] bool is_open() const noexcept { return depth_ > 0; }

  /// A call inside the group failed: close() will say so and run nothing.
  void remember_failure(const Error& error);

  void add_operation(std::shared_ptr<comm::Communicator> communicator, cudaStream_t stream,
                     const coll::Operation& operation);
  /// A communicator to initialise; `handle` is set when that has succeeded (at once for a
  /// non-blocking one).
  void add_init(std::shared_ptr<comm::Communicator> communicator, ncclComm_t* handle);

 private:
  struct Init {
    std::shared_ptr<comm::Communicator> communicator;
    ncclComm_t* handle;
  };
  /// The operations of one communicator, in call order, and the streams they were called on.
  struct Work {
    std::shared_ptr<comm::Communicator> communicator;
    std::vector<cudaStream_t> streams;
    std::vector<coll::Operation> operations;
  };

  static void require_one_mode(const std::vector<Init>& inits, const std::vector<Work>& works);
  /// Takes back the handles of non-blocking communicators that will not be initialised.
  static void discard(const std::vector<Init>& inits);
  static ncclResult_t run_inits(const std::vector<Init>& inits);
  static void run_operations(std::vector<Work> works);

  int depth_ = 0;
  std::vector<Init> inits_;
  std::vector<Work> works_;
  std::unique_ptr<Error> failure_;
};

}  // namespace ripieno::api

// What takes a while because other ranks take part: making communicators, registering windows. A
// job runs in the calling thread, or in threads of a group's end, or, for a non-blocking
// communicator, in the background.
#pragma once

#include <nccl.h>

#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace ripieno::api {

struct Job {
  /// Whose mode counts, and whose state tells how it goes.
  std::shared_ptr<comm::Communicator> communicator;
  std::function<void()> work;  ///< Blocks; throws Error.
  /// Hands out what the job makes: after the work, or before it where nobody waits for it.
  std::function<void()> deliver;
  /// Takes that back where the work will not be done after all.
  std::function<void()> withdraw;
  /// Ends the work early, from another thread: nobody wants its result any more.
  std::function<void()> cancel;

  [[nodiscard]] bool blocking() const noexcept { return communicator->config().blocking; }
};

/// A job that makes `communicator`, whose handle goes to `*handle`.
[[nodiscard]] Job make_communicator_job(const std::shared_ptr<comm::Communicator>& communicator,
                                        ncclComm_t* handle);

/// Adds the job to the calling thread's open group, or does it now. Throws Error.
ncclResult_t start(Job job);
/// Does all jobs at once, each in a thread of its own since each waits for others. When one fails
/// the others are cancelled, which may be waiting for it, and its Error is thrown.
void run_together(const std::vector<Job>& jobs);
/// Starts jobs of non-blocking communicators, whose results have been delivered.
void run_in_background(const std::vector<Job>& jobs);

}  // namespace ripieno::api

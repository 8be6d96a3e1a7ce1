// Running jobs.
#include "api/job.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "api/group.h"
#include "base/error.h"
#include "base/process.h"
#include "comm/registry.h"

namespace ripieno::api {

Job make_communicator_job(const std::shared_ptr<comm::Communicator>& communicator,
                          ncclComm_t* handle) {
  return {
      .communicator = communicator,
      .work = [communicator] { communicator->initialise(); },
      .deliver = [communicator, handle] { *handle = comm::add_handle(communicator); },
      .withdraw = [handle] { std::ignore = comm::remove_handle(std::exchange(*handle, nullptr)); },
      .cancel = [communicator] { communicator->cancel(); }};
}

ncclResult_t start(Job job) {
  Group& group = Group::current();
  const bool blocking = job.blocking();
  if (group.is_open()) {
    group.add_job(std::move(job));
  } else if (blocking) {
    job.work();
    job.deliver();
  } else {
    job.deliver();
    run_in_background({std::move(job)});
  }
  return blocking ? ncclSuccess : ncclInProgress;
}

void run_together(const std::vector<Job>& jobs) {
  std::exception_ptr failure;
  std::mutex mutex;
  bool is_local = false;
  const auto keep_failure = [&](const Error& error) {
    const std::lock_guard lock(mutex);
    if (!failure) {
      std::ranges::for_each(jobs, [](const Job& job) { job.cancel(); });
    }
    // What this process met is the cause of what the other ranks then saw of it.
    const bool local =
        error.result() == ncclSystemError || error.result() == ncclUnhandledCudaError;
    if (!failure || (local && !is_local)) {
      failure = std::make_exception_ptr(error);
      is_local = local;
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (const Job& job : jobs) {
        threads.push_back(start_thread("ripieno-init", [&] {
          try {
            job.work();
          } catch (const Error& error) {
            keep_failure(error);
          }
        }));
      }
    } catch (const std::system_error& error) {
      keep_failure(Error(ncclSystemError, "cannot start a thread for each rank: {}", error.what()));
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  for (const Job& job : jobs) {
    job.deliver();
  }
}

void run_in_background(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    job.communicator->run_in_background("ripieno-init", job.work);
  }
}

}  // namespace ripieno::api

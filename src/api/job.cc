// Running jobs.
#include "api/job.h"

#include <exception>
#include <thread>
#include <utility>

#include "api/group.h"
#include "base/process.h"
#include "comm/registry.h"

namespace ripieno::api {

Job make_communicator_job(const std::shared_ptr<comm::Communicator>& communicator,
                          ncclComm_t* handle) {
  return {
      .communicator = communicator,
      .work = [communicator] { communicator->initialise(); },
      .deliver = [communicator, handle] { *handle = comm::add_handle(communicator); },
      .withdraw = [handle] { std::ignore = comm::remove_handle(std::exchange(*handle, nullptr)); }};
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
  std::vector<std::exception_ptr> failures(jobs.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < jobs.size(); ++index) {
      threads.push_back(start_thread("ripieno-init", [&, index] {
        try {
          jobs[index].work();
        } catch (...) {
          failures[index] = std::current_exception();
        }
      }));
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
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

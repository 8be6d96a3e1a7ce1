// The life of communicators in the C interface.
#include <algorithm>
#include <vector>

#include "api/border.h"
#include "api/declare.h"
#include "api/group.h"
#include "api/job.h"
#include "comm/registry.h"
#include "device/device.h"

namespace ripieno::api {
namespace {

using comm::Communicator;

void check_ranks(int ranks, int rank) {
  if (ranks < 1) {
    throw Error(ncclInvalidArgument, "nranks is {}; it must be at least 1", ranks);
  }
  if (rank < 0 || rank >= ranks) {
    throw Error(ncclInvalidArgument, "rank is {}; valid values are 0 to {}", rank, ranks - 1);
  }
}

std::shared_ptr<Communicator> make_communicator(std::vector<ncclUniqueId> ids, int ranks, int rank,
                                                int device, const ncclConfig_t* config) {
  check_ranks(ranks, rank);
  return std::make_shared<Communicator>(
      comm::from_ids(std::move(ids), {.rank = rank, .ranks = ranks}), device,
      comm::parse_config(config));
}

ncclResult_t init_rank(const char* name, ncclComm_t* handle, int ranks,
                       std::vector<ncclUniqueId> ids, int rank, const ncclConfig_t* config) {
  return guard_in_group(name, [&] {
    require_pointer("comm", handle);
    *handle = nullptr;
    return start(make_communicator_job(
        make_communicator(std::move(ids), ranks, rank, device::backend().current_device(), config),
        handle));
  });
}

std::vector<int> device_list(int count, const int* devices) {
  const int available = device::backend().device_count();
  std::vector<int> list;
  for (int index = 0; index < count; ++index) {
    const int device = devices != nullptr ? devices[index] : index;
    if (device < 0 || device >= available) {
      throw Error(ncclInvalidArgument,
                  "device {} (entry {} of devlist) does not exist; valid values are 0 to {}",
                  device, index, available - 1);
    }
    list.push_back(device);
  }
  return list;
}

void init_all(ncclComm_t* handles, const std::vector<int>& devices) {
  const ncclUniqueId id = bootstrap::create_unique_id();
  const int ranks = static_cast<int>(devices.size());
  try {
    std::vector<Job> jobs;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto place = static_cast<std::size_t>(rank);
      jobs.push_back(make_communicator_job(
          make_communicator({id}, ranks, rank, devices[place], nullptr), &handles[place]));
    }
    run_together(jobs);
  } catch (const Error&) {
    // Not all ranks may have come to their rendezvous.
    bootstrap::withdraw_unique_id(id);
    throw;
  }
}

template <typename Question>
ncclResult_t ask(const char* name, ncclComm_t comm, const char* argument, int* answer,
                 Question question) {
  return guard(name, [&] {
    require_pointer(argument, answer);
    const auto communicator = comm::find_handle(comm);
    communicator->require(comm::Call::kQuestion);
    *answer = question(*communicator);
    return ncclSuccess;
  });
}

}  // namespace
}  // namespace ripieno::api

RIPIENO_API(ncclGetUniqueId, get_unique_id);
ncclResult_t ripieno::api::get_unique_id(ncclUniqueId* id) {
  return guard("ncclGetUniqueId", [&] {
    require_pointer("uniqueId", id);
    *id = bootstrap::create_unique_id();
    return ncclSuccess;
  });
}

RIPIENO_API(ncclCommInitRank, comm_init_rank);
ncclResult_t ripieno::api::comm_init_rank(ncclComm_t* handle, int ranks, ncclUniqueId id,
                                          int rank) {
  return init_rank("ncclCommInitRank", handle, ranks, {id}, rank, nullptr);
}

RIPIENO_API(ncclCommInitRankConfig, comm_init_rank_config);
ncclResult_t ripieno::api::comm_init_rank_config(ncclComm_t* handle, int ranks, ncclUniqueId id,
                                                 int rank, ncclConfig_t* config) {
  return init_rank("ncclCommInitRankConfig", handle, ranks, {id}, rank, config);
}

RIPIENO_API(ncclCommInitRankScalable, comm_init_rank_scalable);
ncclResult_t ripieno::api::comm_init_rank_scalable(ncclComm_t* handle, int ranks, int rank, int ids,
                                                   ncclUniqueId* id_list, ncclConfig_t* config) {
  return guard("ncclCommInitRankScalable", [&] {
    require_pointer("commIds", id_list);
    if (ids < 1 || ids > ranks) {
      throw Error(ncclInvalidArgument, "nId is {}; valid values are 1 to nranks ({})", ids, ranks);
    }
    return init_rank("ncclCommInitRankScalable", handle, ranks, {id_list, id_list + ids}, rank,
                     config);
  });
}

RIPIENO_API(ncclCommInitAll, comm_init_all);
ncclResult_t ripieno::api::comm_init_all(ncclComm_t* handles, int count, const int* devices) {
  return guard("ncclCommInitAll", [&] {
    require_pointer("comms", handles);
    if (count < 1) {
      throw Error(ncclInvalidArgument, "ndev is {}; it must be at least 1", count);
    }
    std::fill_n(handles, count, nullptr);
    init_all(handles, device_list(count, devices));
    return ncclSuccess;
  });
}

RIPIENO_API(ncclCommFinalize, comm_finalize);
ncclResult_t ripieno::api::comm_finalize(ncclComm_t handle) {
  return guard("ncclCommFinalize", [&] {
    if (handle == nullptr) {
      return ncclSuccess;
    }
    const auto communicator = comm::find_handle(handle);
    if (communicator->config().blocking) {
      communicator->finalize();
      return ncclSuccess;
    }
    communicator->finalize_in_background();
    return ncclInProgress;
  });
}

RIPIENO_API(ncclCommDestroy, comm_destroy);
ncclResult_t ripieno::api::comm_destroy(ncclComm_t handle) {
  return guard("ncclCommDestroy", [&] {
    if (handle != nullptr) {
      comm::remove_handle(handle)->destroy();
    }
    return ncclSuccess;
  });
}

RIPIENO_API(ncclCommAbort, comm_abort);
ncclResult_t ripieno::api::comm_abort(ncclComm_t handle) {
  return guard("ncclCommAbort", [&] {
    if (handle != nullptr) {
      comm::remove_handle(handle)->abort();
    }
    return ncclSuccess;
  });
}

RIPIENO_API(ncclCommCount, comm_count);
ncclResult_t ripieno::api::comm_count(const ncclComm_t handle, int* count) {
  return ask("ncclCommCount", handle, "count", count,
             [](const comm::Communicator& it) { return it.ranks(); });
}

RIPIENO_API(ncclCommCuDevice, comm_device);
ncclResult_t ripieno::api::comm_device(const ncclComm_t handle, int* device) {
  return ask("ncclCommCuDevice", handle, "device", device,
             [](const comm::Communicator& it) { return it.device(); });
}

RIPIENO_API(ncclCommUserRank, comm_rank);
ncclResult_t ripieno::api::comm_rank(const ncclComm_t handle, int* rank) {
  return ask("ncclCommUserRank", handle, "rank", rank,
             [](const comm::Communicator& it) { return it.rank(); });
}

RIPIENO_API(ncclCommGetAsyncError, comm_async_error);
ncclResult_t ripieno::api::comm_async_error(ncclComm_t handle, ncclResult_t* error) {
  return guard("ncclCommGetAsyncError", [&] {
    require_pointer("asyncError", error);
    *error = comm::find_handle(handle)->async_error();
    return ncclSuccess;
  });
}

// Communicators made from others in the C interface: split, shrink, grow; and revoke, which often
// comes before.
#include <algorithm>
#include <vector>

#include "api/border.h"
#include "api/declare.h"
#include "api/group.h"
#include "api/job.h"
#include "base/parameters.h"
#include "bootstrap/bootstrap.h"
#include "comm/registry.h"
#include "device/device.h"

namespace ripieno::api {
namespace {

using comm::Communicator;

constexpr StringParameter kCommId{"NCCL_COMM_ID"};

/// A child lives on its parent's device.
std::shared_ptr<Communicator> make_child(const Communicator& parent,
                                         std::unique_ptr<comm::Origin> origin,
                                         const ncclConfig_t* config) {
  return std::make_shared<Communicator>(std::move(origin), parent.device(),
                                        comm::parse_config(config, &parent.config()));
}

/// The ranks that a shrink leaves out, checked.
std::vector<int> excluded_ranks(const Communicator& parent, const int* list, int count) {
  if (count < 1) {
    throw Error(ncclInvalidArgument, "excludeRanksCount is {}; it must be at least 1", count);
  }
  require_pointer("excludeRanksList", list);
  std::vector<int> excluded(list, list + count);
  for (const int rank : excluded) {
    if (rank < 0 || rank >= parent.ranks()) {
      throw Error(ncclInvalidArgument, "excludeRanksList names rank {}; valid values are 0 to {}",
                  rank, parent.ranks() - 1);
    }
    if (rank == parent.rank()) {
      throw Error(ncclInvalidArgument,
                  "excludeRanksList names rank {}, which is the calling rank: excluded ranks must "
                  "not call",
                  rank);
    }
  }
  return excluded;
}

void check_growth(int ranks, int old_ranks, int rank) {
  if (rank != -1) {
    throw Error(ncclInvalidArgument,
                "rank is {}; ranks of the old communicator keep theirs and pass -1", rank);
  }
  if (ranks <= old_ranks) {
    throw Error(ncclInvalidArgument,
                "nRanks is {}; the grown communicator must have more than the {} ranks there are",
                ranks, old_ranks);
  }
}

std::shared_ptr<Communicator> newcomer(int ranks, const ncclUniqueId* id, int rank,
                                       const ncclConfig_t* config) {
  require_pointer("uniqueId", id);
  if (rank < 0 || rank >= ranks) {
    throw Error(ncclInvalidArgument, "rank is {}; valid values for a new rank are 0 to {}", rank,
                ranks - 1);
  }
  return std::make_shared<Communicator>(comm::from_ids({*id}, {.rank = rank, .ranks = ranks}),
                                        device::backend().current_device(),
                                        comm::parse_config(config));
}

}  // namespace
}  // namespace ripieno::api

RIPIENO_API(ncclCommSplit, comm_split);
ncclResult_t ripieno::api::comm_split(ncclComm_t handle, int color, int key, ncclComm_t* child,
                                      ncclConfig_t* config) {
  return guard_in_group("ncclCommSplit", [&] {
    require_pointer("newcomm", child);
    *child = nullptr;
    const auto parent = comm::find_handle(handle);
    if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
      throw Error(ncclInvalidArgument,
                  "color is {}; valid values are 0 and more, and NCCL_SPLIT_NOCOLOR ({})", color,
                  NCCL_SPLIT_NOCOLOR);
    }
    auto communicator = make_child(*parent, comm::from_split(parent, color, key), config);
    if (color != NCCL_SPLIT_NOCOLOR) {
      return start(make_communicator_job(communicator, child));
    }
    // Takes part and gets nothing; it is the parent that is busy.
    return start({.communicator = parent,
                  .work = [communicator = std::move(communicator)] { communicator->initialise(); },
                  .deliver = [] {},
                  .withdraw = [] {},
                  .cancel = [] {}});
  });
}

RIPIENO_API(ncclCommShrink, comm_shrink);
ncclResult_t ripieno::api::comm_shrink(ncclComm_t handle, int* list, int count, ncclComm_t* child,
                                       ncclConfig_t* config, int flags) {
  return guard_in_group("ncclCommShrink", [&] {
    require_pointer("newcomm", child);
    *child = nullptr;
    const auto parent = comm::find_handle(handle);
    if (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT) {
      throw Error(ncclInvalidArgument,
                  "shrinkFlags is {}; valid values are NCCL_SHRINK_DEFAULT (0) and "
                  "NCCL_SHRINK_ABORT (1)",
                  flags);
    }
    parent->require(comm::Call::kShrink);
    const std::vector<int> excluded = excluded_ranks(*parent, list, count);
    return start(make_communicator_job(
        make_child(*parent, comm::from_shrink(parent, excluded, flags == NCCL_SHRINK_ABORT),
                   config),
        child));
  });
}

RIPIENO_API(ncclCommRevoke, comm_revoke);
ncclResult_t ripieno::api::comm_revoke(ncclComm_t handle, int flags) {
  return guard("ncclCommRevoke", [&] {
    const auto communicator = comm::find_handle(handle);
    if (flags != NCCL_REVOKE_DEFAULT) {
      throw Error(ncclInvalidArgument, "revokeFlags is {}; the only valid value is 0", flags);
    }
    communicator->revoke();
    return ncclSuccess;
  });
}

RIPIENO_API(ncclCommGetUniqueId, comm_get_unique_id);
ncclResult_t ripieno::api::comm_get_unique_id(ncclComm_t handle, ncclUniqueId* id) {
  return guard("ncclCommGetUniqueId", [&] {
    require_pointer("uniqueId", id);
    comm::find_handle(handle)->require(comm::Call::kDerive);
    if (kCommId.is_set()) {
      throw Error(ncclInvalidUsage,
                  "NCCL_COMM_ID ({}) names one meeting point for all; unset it to grow",
                  kCommId.value());
    }
    *id = bootstrap::create_unique_id();
    return ncclSuccess;
  });
}

RIPIENO_API(ncclCommGrow, comm_grow);
ncclResult_t ripieno::api::comm_grow(ncclComm_t handle, int ranks, const ncclUniqueId* id, int rank,
                                     ncclComm_t* child, ncclConfig_t* config) {
  return guard_in_group("ncclCommGrow", [&] {
    require_pointer("newcomm", child);
    *child = nullptr;
    if (handle == nullptr) {
      return start(make_communicator_job(newcomer(ranks, id, rank, config), child));
    }
    const auto parent = comm::find_handle(handle);
    parent->require(comm::Call::kDerive);
    check_growth(ranks, parent->ranks(), rank);
    return start(make_communicator_job(
        make_child(*parent, comm::from_growth(parent, ranks, id), config), child));
  });
}

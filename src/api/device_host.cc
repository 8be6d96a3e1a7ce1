// Host functions of the device-side interface. Teams have a true and cheap answer: no rank is in
// load and store reach of another one's kernels, so everybody is alone in the LSA team and the rail
// is the world. All else is refused.
#include "api/device_host.h"

#include "api/declare.h"
#include "api/refuse.h"

namespace ripieno::api {
namespace {

constexpr const char* kUseCollectives =
    "use the host-side collectives; kernels that communicate by themselves are not supported";

/// The whole communicator; nobody, if there is none.
ncclTeam whole_communicator(ncclComm_t comm) {
  ncclTeam team{0, 0, 1};
  if (pncclCommCount(comm, &team.nRanks) != ncclSuccess) return {0, 0, 1};
  if (pncclCommUserRank(comm, &team.rank) != ncclSuccess) return {0, 0, 1};
  return team;
}

}  // namespace
}  // namespace ripieno::api

// ---- Teams ----

RIPIENO_API(ncclTeamWorld, team_world);
ncclTeam ripieno::api::team_world(ncclComm_t comm) {
  return whole_communicator(comm);
}

RIPIENO_API(ncclTeamLsa, team_lsa);
ncclTeam ripieno::api::team_lsa(ncclComm_t) {
  return {1, 0, 1};
}

RIPIENO_API(ncclTeamRail, team_rail);
ncclTeam ripieno::api::team_rail(ncclComm_t comm) {
  return whole_communicator(comm);
}

RIPIENO_API(ncclTeamRankToWorld, team_rank_to_world);
int ripieno::api::team_rank_to_world(ncclComm_t comm, ncclTeam team, int rank) {
  return whole_communicator(comm).rank + (rank - team.rank) * team.stride;
}

RIPIENO_API(ncclTeamRankToLsa, team_rank_to_lsa);
int ripieno::api::team_rank_to_lsa(ncclComm_t, ncclTeam team, int rank) {
  return (rank - team.rank) * team.stride;
}

// ---- Device communicators ----

RIPIENO_API(ncclCommQueryProperties, comm_query_properties);
ncclResult_t ripieno::api::comm_query_properties(ncclComm_t, ncclCommProperties*) {
  return refuse("ncclCommQueryProperties",
                "ask ncclCommCount, ncclCommUserRank and ncclCommCuDevice one by one");
}

RIPIENO_API(ncclDevCommCreate, dev_comm_create);
ncclResult_t ripieno::api::dev_comm_create(ncclComm_t, const ncclDevCommRequirements*,
                                           ncclDevComm*) {
  return refuse("ncclDevCommCreate", kUseCollectives);
}

RIPIENO_API(ncclDevCommDestroy, dev_comm_destroy);
ncclResult_t ripieno::api::dev_comm_destroy(ncclComm_t, const ncclDevComm*) {
  return refuse("ncclDevCommDestroy", "leave it out; no device communicator was ever made");
}

// ---- Requirements ----

RIPIENO_API(ncclLsaBarrierCreateRequirement, lsa_barrier_create_requirement);
ncclResult_t ripieno::api::lsa_barrier_create_requirement(ncclTeam, int, ncclLsaBarrierHandle*,
                                                          ncclDevResourceRequirements*) {
  return refuse("ncclLsaBarrierCreateRequirement", kUseCollectives);
}

RIPIENO_API(ncclGinBarrierCreateRequirement, gin_barrier_create_requirement);
ncclResult_t ripieno::api::gin_barrier_create_requirement(ncclComm_t, ncclTeam, int,
                                                          ncclGinBarrierHandle*,
                                                          ncclDevResourceRequirements*) {
  return refuse("ncclGinBarrierCreateRequirement", kUseCollectives);
}

RIPIENO_API(ncclLLA2ACalcSlots, ll_a2a_calc_slots);
int ripieno::api::ll_a2a_calc_slots(int, int) {
  refuse("ncclLLA2ACalcSlots", kUseCollectives);
  return 0;
}

RIPIENO_API(ncclLLA2ACreateRequirement, ll_a2a_create_requirement);
ncclResult_t ripieno::api::ll_a2a_create_requirement(int, int, ncclLLA2AHandle*,
                                                     ncclDevResourceRequirements*) {
  return refuse("ncclLLA2ACreateRequirement", kUseCollectives);
}

RIPIENO_API(ncclGinInboxA2ACreateRequirement, gin_inbox_a2a_create_requirement);
ncclResult_t ripieno::api::gin_inbox_a2a_create_requirement(ncclTeam, int, int,
                                                            ncclGinInboxA2AHandle*,
                                                            ncclDevResourceRequirements*) {
  return refuse("ncclGinInboxA2ACreateRequirement", kUseCollectives);
}

RIPIENO_API(ncclGinOutboxCreateRequirement, gin_outbox_create_requirement);
ncclResult_t ripieno::api::gin_outbox_create_requirement(int, int, ncclGinOutboxHandle*,
                                                         ncclDevResourceRequirements*) {
  return refuse("ncclGinOutboxCreateRequirement", kUseCollectives);
}

// ---- Addresses in windows ----

RIPIENO_API(ncclGetLsaDevicePointer, get_lsa_device_pointer);
ncclResult_t ripieno::api::get_lsa_device_pointer(ncclWindow_t, size_t, int, void**) {
  return refuse("ncclGetLsaDevicePointer", kUseCollectives);
}

RIPIENO_API(ncclGetPeerDevicePointer, get_peer_device_pointer);
ncclResult_t ripieno::api::get_peer_device_pointer(ncclWindow_t, size_t, int, void**) {
  return refuse("ncclGetPeerDevicePointer", kUseCollectives);
}

RIPIENO_API(ncclGetLsaMultimemDevicePointer, get_lsa_multimem_device_pointer);
ncclResult_t ripieno::api::get_lsa_multimem_device_pointer(ncclWindow_t, size_t, void**) {
  return refuse("ncclGetLsaMultimemDevicePointer", kUseCollectives);
}

RIPIENO_API(ncclGetMultimemDevicePointer, get_multimem_device_pointer);
ncclResult_t ripieno::api::get_multimem_device_pointer(ncclWindow_t, size_t, ncclMultimemHandle,
                                                       void**) {
  return refuse("ncclGetMultimemDevicePointer", kUseCollectives);
}

// ---- Not in any header, but exported by 2.28.9 ----

extern "C" __attribute__((visibility("default"))) void ncclResetDebugInitInternal() {
  pncclResetDebugInit();
}

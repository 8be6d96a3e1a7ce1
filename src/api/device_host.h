// Host functions of the device-side interface (symmetric windows, teams, device communicators) as
// declarations of our own: enough to export the symbols with the right calling convention. What a
// caller would hand over or receive by pointer stays opaque here, because no function looks into it
// yet.
#pragma once

#include <nccl.h>

extern "C" {

/// Part of a communicator: every `stride`-th rank, `nRanks` of them; the caller is number `rank`.
struct ncclTeam {
  int nRanks;
  int rank;
  int stride;
};

struct ncclDevComm;
struct ncclDevCommRequirements;
struct ncclDevResourceRequirements;
struct ncclCommProperties;
struct ncclLsaBarrierHandle;
struct ncclGinBarrierHandle;
struct ncclLLA2AHandle;
struct ncclGinInboxA2AHandle;
struct ncclGinOutboxHandle;

/// Names the multicast object of a team.
struct ncclMultimemHandle {
  void* mcBasePtr;
};

// ---- Teams ----

ncclTeam ncclTeamWorld(ncclComm_t comm);
ncclTeam pncclTeamWorld(ncclComm_t comm);
ncclTeam ncclTeamLsa(ncclComm_t comm);
ncclTeam pncclTeamLsa(ncclComm_t comm);
ncclTeam ncclTeamRail(ncclComm_t comm);
ncclTeam pncclTeamRail(ncclComm_t comm);
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam team, int rank);
int pncclTeamRankToWorld(ncclComm_t comm, ncclTeam team, int rank);
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam team, int rank);
int pncclTeamRankToLsa(ncclComm_t comm, ncclTeam team, int rank);

// ---- Device communicators ----

ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties* properties);
ncclResult_t pncclCommQueryProperties(ncclComm_t comm, ncclCommProperties* properties);
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements* requirements,
                               ncclDevComm* device_comm);
ncclResult_t pncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements* requirements,
                                ncclDevComm* device_comm);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const ncclDevComm* device_comm);
ncclResult_t pncclDevCommDestroy(ncclComm_t comm, const ncclDevComm* device_comm);

// ---- Requirements ----

ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam team, int barriers,
                                             ncclLsaBarrierHandle* handle,
                                             ncclDevResourceRequirements* requirements);
ncclResult_t pncclLsaBarrierCreateRequirement(ncclTeam team, int barriers,
                                              ncclLsaBarrierHandle* handle,
                                              ncclDevResourceRequirements* requirements);
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam team, int barriers,
                                             ncclGinBarrierHandle* handle,
                                             ncclDevResourceRequirements* requirements);
ncclResult_t pncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam team, int barriers,
                                              ncclGinBarrierHandle* handle,
                                              ncclDevResourceRequirements* requirements);
int ncclLLA2ACalcSlots(int max_elements, int max_element_size);
int pncclLLA2ACalcSlots(int max_elements, int max_element_size);
ncclResult_t ncclLLA2ACreateRequirement(int blocks, int slots, ncclLLA2AHandle* handle,
                                        ncclDevResourceRequirements* requirements);
ncclResult_t pncclLLA2ACreateRequirement(int blocks, int slots, ncclLLA2AHandle* handle,
                                         ncclDevResourceRequirements* requirements);
ncclResult_t ncclGinInboxA2ACreateRequirement(ncclTeam peers, int blocks, int size_log2,
                                              ncclGinInboxA2AHandle* handle,
                                              ncclDevResourceRequirements* requirements);
ncclResult_t pncclGinInboxA2ACreateRequirement(ncclTeam peers, int blocks, int size_log2,
                                               ncclGinInboxA2AHandle* handle,
                                               ncclDevResourceRequirements* requirements);
ncclResult_t ncclGinOutboxCreateRequirement(int blocks, int size_log2, ncclGinOutboxHandle* handle,
                                            ncclDevResourceRequirements* requirements);
ncclResult_t pncclGinOutboxCreateRequirement(int blocks, int size_log2, ncclGinOutboxHandle* handle,
                                             ncclDevResourceRequirements* requirements);

// ---- Addresses in windows ----

ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int rank, void** pointer);
ncclResult_t pncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int rank, void** pointer);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void** pointer);
ncclResult_t pncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer,
                                       void** pointer);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void** pointer);
ncclResult_t pncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void** pointer);
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset,
                                          ncclMultimemHandle multimem, void** pointer);
ncclResult_t pncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset,
                                           ncclMultimemHandle multimem, void** pointer);

// ---- Not in any header, but exported by 2.28.9 ----

void ncclResetDebugInitInternal(void);
}

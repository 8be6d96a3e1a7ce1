/*
 * Functions that NCCL gained after 2.28.9, with the signatures of 2.30. Included by nccl.h where
 * RIPIENO_NEWER_API is defined; the library always exports them, so programs built against a newer
 * header find every symbol.
 */
#ifndef RIPIENO_NCCL_NEWER_H
#define RIPIENO_NCCL_NEWER_H

#include "../nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Flag of ncclCommWindowRegister(): writes into the window arrive in the order in which they were
 * made. */
#define NCCL_WIN_STRICT_ORDERING 0x02

/** Flag of ncclCommSuspend(): give back device memory. */
#define NCCL_SUSPEND_MEM 0x01

/** The configuration as of 2.30: the fields of ncclConfig_t, then four more. */
typedef struct ncclConfig_v23000 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
  int graphUsageMode;      /**< 0: no graphs; 1: graphs only; 2: both */
  int numRmaCtx;           /**< contexts for one-sided operations */
  int maxP2pPeers;         /**< most peers that this rank will send to or receive from */
  int graphStreamOrdering; /**< 1: captured work is ordered against other streams' work */
} ncclConfig_v23000;

/** What ncclCommMemStats() can count, in bytes. */
typedef enum {
  ncclStatGpuMemSuspend = 0,   /**< can be given back by ncclCommSuspend() */
  ncclStatGpuMemSuspended = 1, /**< is given back right now: 0 or 1 */
  ncclStatGpuMemPersist = 2,   /**< stays whatever happens */
  ncclStatGpuMemTotal = 3
} ncclCommMemStat_t;

/** How many signals to await from one peer. */
typedef struct {
  int opCnt;
  int peer;
  int sigIdx; /**< 0 */
  int ctx;    /**< 0 */
} ncclWaitSignalDesc_t;

/** A parameter that was looked up once by ncclParamBind(). Never freed. */
typedef void* ncclParamHandle_t;

/* ---- Growing --------------------------------------------------------------------------------- */

/** A meeting point for the ranks that ncclCommGrow() will add. For one use. */
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
ncclResult_t pncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);

/** A larger communicator: old ranks pass `comm` and rank -1, new ones NULL, the id and their new
 * rank. */
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t pncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                           ncclComm_t* newcomm, ncclConfig_t* config);

/* ---- Memory of a communicator ---------------------------------------------------------------- */

/** The address that was registered as `win`; NULL where windows are not available. */
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);
ncclResult_t pncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);

/** Gives back resources of an idle communicator until ncclCommResume(). */
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t pncclCommSuspend(ncclComm_t comm, int flags);

/** Takes back what ncclCommSuspend() gave. */
ncclResult_t ncclCommResume(ncclComm_t comm);
ncclResult_t pncclCommResume(ncclComm_t comm);

/** One count of a communicator's device memory. */
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);
ncclResult_t pncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);

/* ---- One-sided
 * ---------------------------------------------------------------------------------------------- */

/** Writes into a peer's window, then signals the peer. */
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                            ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                            unsigned int flags, ncclComm_t comm, cudaStream_t stream);

/** Signals a peer without data. */
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t pncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                         cudaStream_t stream);

/** Lets the stream wait for signals of some peers. */
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t stream);
ncclResult_t pncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                             cudaStream_t stream);

/* ---- Parameters ------------------------------------------------------------------------------ */

/** Looks a parameter up by name. */
ncclResult_t ncclParamBind(ncclParamHandle_t* out, const char* key);
ncclResult_t pncclParamBind(ncclParamHandle_t* out, const char* key);

/** The value as an integer; ncclInvalidArgument where it does not fit. */
ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t* out);
ncclResult_t pncclParamGetI8(ncclParamHandle_t handle, int8_t* out);
ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t* out);
ncclResult_t pncclParamGetI16(ncclParamHandle_t handle, int16_t* out);
ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t* out);
ncclResult_t pncclParamGetI32(ncclParamHandle_t handle, int32_t* out);
ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t* out);
ncclResult_t pncclParamGetI64(ncclParamHandle_t handle, int64_t* out);
ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t* out);
ncclResult_t pncclParamGetU8(ncclParamHandle_t handle, uint8_t* out);
ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t* out);
ncclResult_t pncclParamGetU16(ncclParamHandle_t handle, uint16_t* out);
ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t* out);
ncclResult_t pncclParamGetU32(ncclParamHandle_t handle, uint32_t* out);
ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t* out);
ncclResult_t pncclParamGetU64(ncclParamHandle_t handle, uint64_t* out);

/** The value as text, valid until this thread's next call. */
ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char** out);
ncclResult_t pncclParamGetStr(ncclParamHandle_t handle, const char** out);

/** The value's bytes; `*len` says how many there are, also where `maxLen` is too small for them. */
ncclResult_t ncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len);
ncclResult_t pncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len);

/** Name to text in one step. */
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t pncclParamGetParameter(const char* key, const char** value, int* valueLen);

/** All names, in no order, valid until this thread's next call. */
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen);
ncclResult_t pncclParamGetAllParameterKeys(const char*** table, int* tableLen);

/** Writes all parameters and their values to the log. */
void ncclParamDumpAll(void);
void pncclParamDumpAll(void);

#ifdef __cplusplus
}
#endif

#endif

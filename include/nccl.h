/*
 * The C interface of Ripieno: the names, values and layouts of NCCL 2.28.9, so that a program built
 * against either header runs against either library. Types of CUDA come from a CUDA toolkit where
 * the compiler finds one, otherwise from the stand-ins in ripieno/host/. Define RIPIENO_NEWER_API
 * before the include to see later additions as well.
 */
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<cuda_runtime.h>)
#define RIPIENO_CUDA_HEADERS_FOUND 1
#endif
#else
#define RIPIENO_CUDA_HEADERS_FOUND 1
#endif

#ifdef RIPIENO_CUDA_HEADERS_FOUND
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#else
#include "ripieno/host/cuda_bf16.h"
#include "ripieno/host/cuda_fp16.h"
#include "ripieno/host/cuda_fp8.h"
#include "ripieno/host/cuda_runtime.h"
#endif

/* ---- Version --------------------------------------------------------------------------------- */

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""

/** Version X.Y.Z as one comparable number; up to 2.8 the minor part had one digit less. */
#define NCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE 22809

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Handles --------------------------------------------------------------------------------- */

/** A communicator: one rank's membership in a group of ranks. */
typedef struct ncclComm* ncclComm_t;
#define NCCL_COMM_NULL NULL

/** A window: memory that all ranks of a communicator registered together. */
typedef struct ncclWindow_vidmem* ncclWindow_t;

/** Tells the ranks of a new communicator how to meet. Opaque; copy it by value, also over any
 * channel of bytes. */
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

/* ---- Results --------------------------------------------------------------------------------- */

/** What a call came to. ncclGetLastError() has the sentence that belongs to a failure. */
typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1, /**< a call of the device runtime failed */
  ncclSystemError = 2,        /**< a call of the operating system failed */
  ncclInternalError = 3,      /**< the library contradicts itself: please report it */
  ncclInvalidArgument = 4,    /**< one argument is wrong by itself */
  ncclInvalidUsage = 5,       /**< the arguments are fine, the call is not, here and now */
  ncclRemoteError = 6,        /**< another rank, or the way to it, failed */
  ncclInProgress = 7,         /**< a non-blocking call is still under way */
  ncclNumResults = 8
} ncclResult_t;

/* ---- Configuration of a communicator --------------------------------------------------------- */

/** A field with one of these values was left to the library. */
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT -1.0f

/** Color of a rank that takes part in ncclCommSplit() without joining a new communicator. */
#define NCCL_SPLIT_NOCOLOR -1

/** Flags of ncclCommWindowRegister(), and the alignment its buffer must have. */
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096

/** Values of ncclConfig_t::CTAPolicy: which share of the device a collective may take. */
#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02

/** Flags of ncclCommShrink(): ABORT first ends the work that the parent has in flight. */
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01

/** The only flag of ncclCommRevoke(). */
#define NCCL_REVOKE_DEFAULT 0x00

/** Wishes for a new communicator. Start from NCCL_CONFIG_INITIALIZER and set fields by name. */
typedef struct ncclConfig_v22800 {
  /* Filled in by the initializer. */
  size_t size;
  unsigned int magic;
  unsigned int version;
  /* Free to set. */
  int blocking;            /**< 1: calls wait; 0: calls return ncclInProgress */
  int cgaClusterSize;      /**< blocks of a thread block cluster */
  int minCTAs;             /**< fewest blocks of a kernel */
  int maxCTAs;             /**< most blocks of a kernel */
  const char* netName;     /**< name of the network to use */
  int splitShare;          /**< 1: children of ncclCommSplit() share resources with the parent */
  int trafficClass;        /**< class of service on the network */
  const char* commName;    /**< a name for logs and profilers */
  int collnetEnable;       /**< 1: reduce inside the network where it can */
  int CTAPolicy;           /**< NCCL_CTA_POLICY_* */
  int shrinkShare;         /**< 1: children of ncclCommShrink() share resources with the parent */
  int nvlsCTAs;            /**< blocks for in-switch reduction */
  int nChannelsPerNetPeer; /**< channels between two ranks that talk over the network */
  int nvlinkCentricSched;  /**< 1: schedule around the NVLink domain */
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                           \
  {                                                                                       \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH),   \
        NCCL_CONFIG_UNDEF_INT /* blocking */, NCCL_CONFIG_UNDEF_INT /* cgaClusterSize */, \
        NCCL_CONFIG_UNDEF_INT /* minCTAs */, NCCL_CONFIG_UNDEF_INT /* maxCTAs */,         \
        NCCL_CONFIG_UNDEF_PTR /* netName */, NCCL_CONFIG_UNDEF_INT /* splitShare */,      \
        NCCL_CONFIG_UNDEF_INT /* trafficClass */, NCCL_CONFIG_UNDEF_PTR /* commName */,   \
        NCCL_CONFIG_UNDEF_INT /* collnetEnable */, NCCL_CONFIG_UNDEF_INT /* CTAPolicy */, \
        NCCL_CONFIG_UNDEF_INT /* shrinkShare */, NCCL_CONFIG_UNDEF_INT /* nvlsCTAs */,    \
        NCCL_CONFIG_UNDEF_INT /* nChannelsPerNetPeer */,                                  \
        NCCL_CONFIG_UNDEF_INT /* nvlinkCentricSched */                                    \
  }

/** Answer of ncclGroupSimulateEnd(). Start from NCCL_SIM_INFO_INITIALIZER. */
typedef struct ncclSimInfo_v22200 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime; /**< microseconds */
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER                                                        \
  {                                                                                      \
    sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), \
        NCCL_UNDEF_FLOAT                                                                 \
  }

/* ---- Data types and operators ---------------------------------------------------------------- */

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

/** Exists so that ncclMaxRedOp can be computed from the size of an enum. */
typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;

/** A reduction: a built-in one, or the handle that ncclRedOpCreatePreMulSum() gave out. */
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5, /**< handles of created operators start here */
  ncclMaxRedOp = 0x7fffffff >> (32 - 8 * sizeof(ncclRedOp_dummy_t))
} ncclRedOp_t;

/** Where the scalar of a created operator lives, and when it is read. */
typedef enum {
  ncclScalarDevice = 0,       /**< device memory, read while the collective runs */
  ncclScalarHostImmediate = 1 /**< host memory, read before the creating call returns */
} ncclScalarResidence_t;

/* ---- Library --------------------------------------------------------------------------------- */
/* Every function exists twice: ncclX may be replaced by a profiling library, pncclX is what that
 * one calls. */

/** Version code of the loaded library, comparable with NCCL_VERSION_CODE. */
ncclResult_t ncclGetVersion(int* version);
ncclResult_t pncclGetVersion(int* version);

/** A few words for a result code. */
const char* ncclGetErrorString(ncclResult_t result);
const char* pncclGetErrorString(ncclResult_t result);

/** The sentence of the last failure in this process. `comm` is not looked at and may be NULL. */
const char* ncclGetLastError(ncclComm_t comm);
const char* pncclGetLastError(ncclComm_t comm);

/** Reads the variables of the log again. Deprecated. */
void ncclResetDebugInit(void);
void pncclResetDebugInit(void);

/* ---- Memory ---------------------------------------------------------------------------------- */

/** Device memory of the current device that other ranks can map. */
ncclResult_t ncclMemAlloc(void** ptr, size_t size);
ncclResult_t pncclMemAlloc(void** ptr, size_t size);

/** Frees what ncclMemAlloc() gave; NULL is fine. */
ncclResult_t ncclMemFree(void* ptr);
ncclResult_t pncclMemFree(void* ptr);

/* ---- Life of a communicator ------------------------------------------------------------------ */

/** A new meeting point. Call it on one rank and hand the id to all others. */
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);
ncclResult_t pncclGetUniqueId(ncclUniqueId* uniqueId);

/** Joins a communicator of `nranks` as `rank`, on the current device. Returns when all ranks have
 * joined. */
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t pncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);

/** As ncclCommInitRank(), with wishes; `config` may be NULL. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config);
ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                     ncclConfig_t* config);

/** As ncclCommInitRankConfig(), with `nId` meeting points that share the work. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config);
ncclResult_t pncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                       ncclUniqueId* commIds, ncclConfig_t* config);

/** All ranks in this process: rank i on devlist[i], or on device i if devlist is NULL. */
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);
ncclResult_t pncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);

/** Ends the work of a communicator in good order; it can then only be destroyed or aborted. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t pncclCommFinalize(ncclComm_t comm);

/** Frees a communicator, after finalizing it where that was not done. */
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t pncclCommDestroy(ncclComm_t comm);

/** Ends everything that runs on a communicator and frees it, without the other ranks. */
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t pncclCommAbort(ncclComm_t comm);

/** Ends everything that runs on a communicator but keeps it to be split, shrunk or destroyed. */
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);
ncclResult_t pncclCommRevoke(ncclComm_t comm, int revokeFlags);

/** Divides a communicator: ranks of one `color` form a new one, in the order of `key`, then of
 * their old rank. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config);
ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                            ncclConfig_t* config);

/** A new communicator without the excluded ranks, which must not call. */
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);
ncclResult_t pncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                             ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);

/** How a communicator is doing: ncclInProgress while a non-blocking call runs, else the first error
 * that struck it, else ncclSuccess. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);
ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);

/** Number of ranks. */
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t pncclCommCount(const ncclComm_t comm, int* count);

/** The device that the communicator is bound to. */
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device);

/** This rank. */
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);
ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank);

/* ---- Registered memory ----------------------------------------------------------------------- */

/** Announces a buffer that will be used often. `*handle` may come back NULL: there was nothing to
 * gain. */
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);

/** Takes back an announcement; NULL is fine. */
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);
ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle);

/** Registers memory on all ranks together. `*win` may come back NULL: windows are not available
 * here. */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags);
ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                     int winFlags);

/** Takes back this rank's part of a window; NULL is fine. */
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);

/* ---- Created operators ----------------------------------------------------------------------- */

/** An operator for `comm`: every rank's input is multiplied by that rank's scalar, then summed. */
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                       ncclScalarResidence_t residence, ncclComm_t comm);

/** Forgets a created operator. Work that was already enqueued with it is not disturbed. */
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);
ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* ---- Collectives ----------------------------------------------------------------------------- */
/* All ranks call with the same count, type, operator and root. The call enqueues on `stream` and
 * returns. A collective is in place where the send buffer is that part of the receive buffer which
 * it would fill. */

/** recvbuff of `root` = reduction of all sendbuffs, `count` elements. */
ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                         cudaStream_t stream);

/** buff of every rank = buff of `root`. The older form of ncclBroadcast(), always in place. */
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream);

/** recvbuff of every rank = sendbuff of `root`. */
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                            ncclDataType_t datatype, int root, ncclComm_t comm,
                            cudaStream_t stream);

/** recvbuff of every rank = reduction of all sendbuffs, `count` elements. */
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t pncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                            ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                            cudaStream_t stream);

/** recvbuff of rank r = part r, of `recvcount` elements, of the reduction of all sendbuffs. */
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream);
ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream);

/** Part r of every recvbuff = sendbuff of rank r, `sendcount` elements. */
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                            ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);

/** Part s of recvbuff of rank r = part r of sendbuff of rank s, `count` elements a part. */
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);

/** Part r of recvbuff of `root` = sendbuff of rank r, `count` elements. */
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclGather(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);

/** recvbuff of rank r = part r of sendbuff of `root`, `count` elements. */
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);

/* ---- Point to point -------------------------------------------------------------------------- */

/** Sends to `peer`, which must receive the same count and type. Sends and receives between the same
 * two ranks match in order. Those that depend on each other belong in one group. */
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                       ncclComm_t comm, cudaStream_t stream);

/** Receives what `peer` sends. */
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                       ncclComm_t comm, cudaStream_t stream);

/* ---- Groups ---------------------------------------------------------------------------------- */

/** From here on, calls of this thread are collected. Groups nest; the outermost end starts the
 * work. */
ncclResult_t ncclGroupStart(void);
ncclResult_t pncclGroupStart(void);

/** Starts what the group collected, as one. */
ncclResult_t ncclGroupEnd(void);
ncclResult_t pncclGroupEnd(void);

/** Ends the group without running it, and estimates what it would have cost. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo);
ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* simInfo);

#ifdef __cplusplus
}
#endif

#ifdef RIPIENO_NEWER_API
#include "ripieno/nccl_newer.h"
#endif

#endif

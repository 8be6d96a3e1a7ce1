// A library in front of the real one that loses the last element of every all-reduce: what `ripieno
// perf` must notice.
#include <nccl.h>

extern "C" __attribute__((visibility("default"))) ncclResult_t ncclAllReduce(
    const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
    ncclComm_t comm, cudaStream_t stream) {
  return pncclAllReduce(sendbuff, recvbuff, count > 1 ? count - 1 : count, datatype, op, comm,
                        stream);
}

/* Two ranks in one process, each on a device of its own, add up their numbers. */
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>

enum { kRanks = 2, kCount = 1024 };

int main(void) {
  ncclComm_t comms[kRanks];
  cudaStream_t streams[kRanks];
  float *buffers[kRanks], numbers[kCount];

  ncclResult_t result = ncclCommInitAll(comms, kRanks, NULL);
  for (int rank = 0; rank < kRanks; rank++) {
    for (int i = 0; i < kCount; i++) numbers[i] = (float)(rank + 1);
    cudaSetDevice(rank);
    cudaStreamCreate(&streams[rank]);
    cudaMalloc((void**)&buffers[rank], sizeof numbers);
    cudaMemcpy(buffers[rank], numbers, sizeof numbers, cudaMemcpyHostToDevice);
  }

  if (result == ncclSuccess) result = ncclGroupStart();
  for (int rank = 0; rank < kRanks && result == ncclSuccess; rank++)
    result = ncclAllReduce(buffers[rank], buffers[rank], kCount, ncclFloat, ncclSum, comms[rank],
                           streams[rank]);
  if (result == ncclSuccess) result = ncclGroupEnd();
  if (result != ncclSuccess) {
    fprintf(stderr, "%s: %s\n", ncclGetErrorString(result), ncclGetLastError(NULL));
    return 1;
  }

  for (int rank = 0; rank < kRanks; rank++) {
    cudaSetDevice(rank);
    cudaStreamSynchronize(streams[rank]);
    cudaMemcpy(numbers, buffers[rank], sizeof numbers, cudaMemcpyDeviceToHost);
    printf("rank %d: 1 + 2 = %g\n", rank, numbers[kCount - 1]);
    cudaFree(buffers[rank]);
    cudaStreamDestroy(streams[rank]);
    ncclCommDestroy(comms[rank]);
  }
  return 0;
}

// Kernels: a host device has no instructions for them, so every call says so, and the first launch
// says it aloud. Occupancy and attributes of a kernel are refused alike.
#include <cstdio>

#include "hostrt/api.h"
#include "hostrt/cuda_functions.h"

namespace ripieno::hostrt::cuda {
namespace {

cudaError_t refuse_kernel() {
  static const int said = std::fputs(
      "ripieno: this program launches a GPU kernel, but it runs on the host runtime's virtual "
      "devices, which have none; "
      "the launch fails with cudaErrorNotSupported\n",
      stderr);
  static_cast<void>(said);
  return call([] { return cudaErrorNotSupported; });
}

}  // namespace

cudaError_t cudaLaunchKernel(const void* /*function*/, dim3 /*gridDim*/, dim3 /*blockDim*/,
                             void** /*arguments*/, size_t /*sharedMemory*/,
                             cudaStream_t /*stream*/) {
  return refuse_kernel();
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* /*config*/, const void* /*function*/,
                                void** /*arguments*/) {
  return refuse_kernel();
}

cudaError_t cudaLaunchCooperativeKernel(const void* /*function*/, dim3 /*gridDim*/,
                                        dim3 /*blockDim*/, void** /*arguments*/,
                                        size_t /*sharedMemory*/, cudaStream_t /*stream*/) {
  return refuse_kernel();
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* /*node*/, cudaGraph_t /*graph*/,
                                   const cudaGraphNode_t* /*dependencies*/,
                                   size_t /*numDependencies*/,
                                   const cudaKernelNodeParams* /*parameters*/) {
  return refuse_kernel();
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* /*attributes*/, const void* /*function*/) {
  return call([] { return cudaErrorNotSupported; });
}

cudaError_t cudaFuncSetAttribute(const void* /*function*/, cudaFuncAttribute /*attribute*/,
                                 int /*value*/) {
  return call([] { return cudaErrorNotSupported; });
}

cudaError_t cudaFuncSetCacheConfig(const void* /*function*/, cudaFuncCache /*config*/) {
  return call([] { return cudaErrorNotSupported; });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* /*numBlocks*/,
                                                          const void* /*function*/,
                                                          int /*blockSize*/,
                                                          size_t /*sharedMemory*/) {
  return call([] { return cudaErrorNotSupported; });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* /*numBlocks*/,
                                                                   const void* /*function*/,
                                                                   int /*blockSize*/,
                                                                   size_t /*sharedMemory*/,
                                                                   unsigned int /*flags*/) {
  return call([] { return cudaErrorNotSupported; });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* /*sharedMemory*/,
                                                      const void* /*function*/, int /*numBlocks*/,
                                                      int /*blockSize*/) {
  return call([] { return cudaErrorNotSupported; });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* /*numClusters*/, const void* /*function*/,
                                           const cudaLaunchConfig_t* /*config*/) {
  return call([] { return cudaErrorNotSupported; });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* /*clusterSize*/, const void* /*function*/,
                                                 const cudaLaunchConfig_t* /*config*/) {
  return call([] { return cudaErrorNotSupported; });
}

}  // namespace ripieno::hostrt::cuda

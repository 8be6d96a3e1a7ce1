/*
 * Kernels of the CUDA runtime: launch, attributes, occupancy. Part of cuda_runtime_api.h, which
 * opens the linkage block around it; include that one.
 */
#ifndef RIPIENO_HOST_CUDA_RUNTIME_LAUNCH_H
#define RIPIENO_HOST_CUDA_RUNTIME_LAUNCH_H

cudaError_t cudaLaunchKernel(const void* function, dim3 gridDim, dim3 blockDim, void** arguments,
                             size_t sharedMemory, cudaStream_t stream);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments);
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 gridDim, dim3 blockDim,
                                        void** arguments, size_t sharedMemory, cudaStream_t stream);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, const void* function);
cudaError_t cudaFuncSetAttribute(const void* function, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncSetCacheConfig(const void* function, enum cudaFuncCache config);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* function,
                                                          int blockSize, size_t sharedMemory);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, const void* function, int blockSize, size_t sharedMemory, unsigned int flags);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* sharedMemory, const void* function,
                                                      int numBlocks, int blockSize);
cudaError_t cudaOccupancyMaxActiveClusters(int* numClusters, const void* function,
                                           const cudaLaunchConfig_t* config);
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* clusterSize, const void* function,
                                                 const cudaLaunchConfig_t* config);

#endif

// The names that a program compiled with `--default-stream per-thread` binds: the same functions,
// with the calling thread's own stream wherever the null stream is meant. Those that wait are the
// stream-ordered form and then a wait.
#include "hostrt/cuda_functions.h"

namespace {

namespace cuda = ripieno::hostrt::cuda;

cudaStream_t own(cudaStream_t stream) {
  return stream == nullptr ? cudaStreamPerThread : stream;
}

cudaError_t finish(cudaError_t submitted) {
  return submitted != cudaSuccess ? submitted : cuda::cudaStreamSynchronize(cudaStreamPerThread);
}

}  // namespace

#define RIPIENO_EXPORT extern "C" __attribute__((visibility("default")))

#define RIPIENO_PER_THREAD(function, name, parameters, arguments) \
  RIPIENO_EXPORT cudaError_t name parameters {                    \
    return cuda::function arguments;                              \
  }
#include "hostrt/cudart/per_thread.inc"

RIPIENO_EXPORT cudaError_t cudaMemcpy_ptds(void* dst, const void* src, size_t size,
                                           cudaMemcpyKind kind) {
  return finish(cuda::cudaMemcpyAsync(dst, src, size, kind, cudaStreamPerThread));
}

RIPIENO_EXPORT cudaError_t cudaMemcpy2D_ptds(void* dst, size_t dstPitch, const void* src,
                                             size_t srcPitch, size_t width, size_t height,
                                             cudaMemcpyKind kind) {
  return finish(cuda::cudaMemcpy2DAsync(dst, dstPitch, src, srcPitch, width, height, kind,
                                        cudaStreamPerThread));
}

RIPIENO_EXPORT cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* parameters) {
  return finish(cuda::cudaMemcpy3DAsync(parameters, cudaStreamPerThread));
}

RIPIENO_EXPORT cudaError_t cudaMemset_ptds(void* pointer, int value, size_t size) {
  return finish(cuda::cudaMemsetAsync(pointer, value, size, cudaStreamPerThread));
}

RIPIENO_EXPORT cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value, size_t width,
                                             size_t height) {
  return finish(cuda::cudaMemset2DAsync(pointer, pitch, value, width, height, cudaStreamPerThread));
}

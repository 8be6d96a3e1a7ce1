// What code compiled by nvcc calls behind the scenes: it registers its kernels when it is loaded
// and fetches the launch configuration when one is called. So such a program loads and runs; only a
// launch fails, and says why.
#include <cstddef>

#include "hostrt/cuda_functions.h"

namespace {

namespace cuda = ripieno::hostrt::cuda;

/// The configuration between the angle brackets of a launch, pushed by the call and popped by the
/// kernel's host stub.
struct CallConfiguration {
  dim3 grid;
  dim3 block;
  std::size_t shared_memory = 0;
  void* stream = nullptr;
};
thread_local CallConfiguration t_configuration;

/// Registering gives the program a token that it hands back when it is unloaded.
void* g_module_token = nullptr;

}  // namespace

struct cudaChannelFormatDesc {
  int x, y, z, w;
  int kind;
};

#define RIPIENO_EXPORT extern "C" __attribute__((visibility("default")))

RIPIENO_EXPORT void** __cudaRegisterFatBinary(void* /*image*/) {
  return &g_module_token;
}
RIPIENO_EXPORT void __cudaRegisterFatBinaryEnd(void** /*module*/) {}
RIPIENO_EXPORT void __cudaUnregisterFatBinary(void** /*module*/) {}
RIPIENO_EXPORT char __cudaInitModule(void** /*module*/) {
  return 1;
}
RIPIENO_EXPORT void __cudaRegisterFunction(void** /*module*/, const char* /*host*/,
                                           char* /*device*/, const char* /*name*/, int /*threads*/,
                                           uint3* /*thread*/, uint3* /*block*/,
                                           dim3* /*block_size*/, dim3* /*grid_size*/,
                                           int* /*warp_size*/) {}
RIPIENO_EXPORT void __cudaRegisterVar(void** /*module*/, char* /*host*/, char* /*device*/,
                                      const char* /*name*/, int /*external*/, std::size_t /*size*/,
                                      int /*constant*/, int /*global*/) {}
RIPIENO_EXPORT void __cudaRegisterManagedVar(void** /*module*/, void** /*host*/, char* /*device*/,
                                             const char* /*name*/, int /*external*/,
                                             std::size_t /*size*/, int /*constant*/,
                                             int /*global*/) {}
RIPIENO_EXPORT void __cudaRegisterHostVar(void** /*module*/, const char* /*name*/, char* /*host*/,
                                          std::size_t /*size*/) {}
RIPIENO_EXPORT char __cudaRegisterUnifiedTable(void** /*module*/, void* /*table*/) {
  return 1;
}

RIPIENO_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
                                                    std::size_t shared_memory, void* stream) {
  t_configuration = {grid, block, shared_memory, stream};
  return 0;
}

RIPIENO_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block,
                                                      std::size_t* shared_memory, void* stream) {
  *grid = t_configuration.grid;
  *block = t_configuration.block;
  *shared_memory = t_configuration.shared_memory;
  *static_cast<void**>(stream) = t_configuration.stream;
  return cudaSuccess;
}

// A kernel stands for itself: the launch that follows is what fails.
RIPIENO_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_stub) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host_stub));
  return cudaSuccess;
}

RIPIENO_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                              void** arguments, std::size_t shared_memory,
                                              cudaStream_t stream) {
  return cuda::cudaLaunchKernel(kernel, grid, block, arguments, shared_memory, stream);
}

RIPIENO_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                   void** arguments, std::size_t shared_memory,
                                                   cudaStream_t stream) {
  return cuda::cudaLaunchKernel(kernel, grid, block, arguments, shared_memory, stream);
}

// The one function of the library that returns a structure.
RIPIENO_EXPORT cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {x, y, z, w, kind};
}

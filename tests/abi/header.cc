// The interface compiles as C++17 with nothing but our own headers; so do the later additions and
// the typed forms of the runtime calls.
#define RIPIENO_NEWER_API
#include <nccl.h>

#include <cstddef>
#include <type_traits>

static_assert(sizeof(__half) == 2 && alignof(__half) == 2);
static_assert(sizeof(__nv_bfloat16) == 2 && alignof(__nv_bfloat16) == 2);
static_assert(sizeof(__nv_fp8_e4m3) == 1 && sizeof(__nv_fp8_e5m2) == 1);
static_assert(std::is_trivially_copyable_v<__half> && std::is_trivially_copyable_v<__nv_bfloat16>);

static_assert(sizeof(ncclConfig_v23000) == 96);
static_assert(offsetof(ncclConfig_v23000, graphUsageMode) == sizeof(ncclConfig_t));
static_assert(sizeof(ncclWaitSignalDesc_t) == 16);
static_assert(std::is_same_v<decltype(ncclCommGetUniqueId), decltype(pncclCommGetUniqueId)>);

/// Never called: that it compiles is the test.
inline cudaError_t typed_calls_compile(float** pointer, cudaEvent_t* event) {
  if (auto error = cudaMalloc(pointer, 4)) return error;
  if (auto error = cudaMallocHost(pointer, 4)) return error;
  return cudaEventCreate(event, cudaEventDisableTiming);
}

int main() {
  const dim3 grid(2, 3);
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return grid.z == 1 && config.version == NCCL_VERSION_CODE ? 0 : 1;
}

/* The interface compiles as C11 with nothing but our own headers, and its initializers are
 * constant. */
#include <nccl.h>

#ifndef NCCL_H_
#error "the header must define the guard that programs test for"
#endif

static const ncclConfig_t kConfig = NCCL_CONFIG_INITIALIZER;
static const ncclSimInfo_t kSimInfo = NCCL_SIM_INFO_INITIALIZER;

_Static_assert(sizeof(ncclConfig_t) == 80, "layout of ncclConfig_t");
_Static_assert(sizeof(ncclUniqueId) == 128, "layout of ncclUniqueId");
_Static_assert(NCCL_VERSION_CODE == NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), "version");
_Static_assert(NCCL_VERSION(2, 8, 4) == 2804, "old version scheme");

/* Programs count on what NVIDIA's headers bring along, string.h and limits.h among them. */
static size_t id_length(const ncclUniqueId* id) {
  return memchr(id, 0, CHAR_BIT * 8) != NULL;
}

int main(void) {
  const ncclUniqueId zeros = {{0}};
  const ncclComm_t none = NCCL_COMM_NULL;
  const cudaStream_t stream = NULL;
  return id_length(&zeros) && none == NULL && stream == NULL && kConfig.magic == 0xcafebeef &&
                 kSimInfo.estimatedTime < 0 && kConfig.blocking == NCCL_CONFIG_UNDEF_INT
             ? 0
             : 1;
}

/* A profiling program: it replaces ncclGetVersion and reaches the library through pncclGetVersion.
 */
#include <nccl.h>
#include <stdio.h>

static int calls = 0;

ncclResult_t ncclGetVersion(int* version) {
  ++calls;
  return pncclGetVersion(version);
}

int main(void) {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess || version != NCCL_VERSION_CODE || calls != 1) {
    printf("version %d after %d calls\n", version, calls);
    return 1;
  }
  return 0;
}

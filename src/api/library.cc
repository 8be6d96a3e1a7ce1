// Version, error texts and the log.
#include "api/border.h"
#include "api/declare.h"

RIPIENO_API(ncclGetVersion, get_version);
ncclResult_t ripieno::api::get_version(int* version) {
  return guard("ncclGetVersion", [&] {
    require_pointer("version", version);
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}

RIPIENO_API(ncclGetErrorString, get_error_string);
const char* ripieno::api::get_error_string(ncclResult_t result) {
  return result_text(result);
}

RIPIENO_API(ncclGetLastError, get_last_error);
const char* ripieno::api::get_last_error(ncclComm_t /*comm*/) {
  return last_error();
}

RIPIENO_API(ncclResetDebugInit, reset_debug_init);
void ripieno::api::reset_debug_init() {
  log_reset();
}

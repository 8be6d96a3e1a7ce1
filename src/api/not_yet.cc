// The functions of the interface that the library does not perform yet. Each is exported and
// answers with a sentence.
#include "api/declare.h"
#include "api/refuse.h"
#include "base/error.h"

namespace ripieno::api {
namespace {

constexpr const char* kUseSendAndReceive = "use ncclSend and ncclRecv in a group";
constexpr const char* kReadEnvironment =
    "run `ripieno env` to see all parameters, or read the environment";

}  // namespace
}  // namespace ripieno::api

// ---- Memory of a communicator ----

RIPIENO_API(ncclCommSuspend, comm_suspend);
ncclResult_t ripieno::api::comm_suspend(ncclComm_t, int) {
  return refuse("ncclCommSuspend",
                "destroy the idle communicator and make it again when it is needed");
}

RIPIENO_API(ncclCommResume, comm_resume);
ncclResult_t ripieno::api::comm_resume(ncclComm_t) {
  return refuse("ncclCommResume", "use the communicator as it is; it was never suspended");
}

RIPIENO_API(ncclCommMemStats, comm_mem_stats);
ncclResult_t ripieno::api::comm_mem_stats(ncclComm_t, ncclCommMemStat_t, uint64_t*) {
  return refuse("ncclCommMemStats", "compare cudaMemGetInfo before and after");
}

// ---- One-sided ----

RIPIENO_API(ncclPutSignal, put_signal);
ncclResult_t ripieno::api::put_signal(const void*, size_t, ncclDataType_t, int, ncclWindow_t,
                                      size_t, int, int, unsigned int, ncclComm_t, cudaStream_t) {
  return refuse("ncclPutSignal", kUseSendAndReceive);
}

RIPIENO_API(ncclSignal, signal);
ncclResult_t ripieno::api::signal(int, int, int, unsigned int, ncclComm_t, cudaStream_t) {
  return refuse("ncclSignal", kUseSendAndReceive);
}

RIPIENO_API(ncclWaitSignal, wait_signal);
ncclResult_t ripieno::api::wait_signal(int, ncclWaitSignalDesc_t*, ncclComm_t, cudaStream_t) {
  return refuse("ncclWaitSignal", kUseSendAndReceive);
}

// ---- Parameters ----

RIPIENO_API(ncclParamBind, param_bind);
ncclResult_t ripieno::api::param_bind(ncclParamHandle_t*, const char*) {
  return refuse("ncclParamBind", kReadEnvironment);
}

RIPIENO_API(ncclParamGetI8, param_get_i8);
ncclResult_t ripieno::api::param_get_i8(ncclParamHandle_t, int8_t*) {
  return refuse("ncclParamGetI8", kReadEnvironment);
}

RIPIENO_API(ncclParamGetI16, param_get_i16);
ncclResult_t ripieno::api::param_get_i16(ncclParamHandle_t, int16_t*) {
  return refuse("ncclParamGetI16", kReadEnvironment);
}

RIPIENO_API(ncclParamGetI32, param_get_i32);
ncclResult_t ripieno::api::param_get_i32(ncclParamHandle_t, int32_t*) {
  return refuse("ncclParamGetI32", kReadEnvironment);
}

RIPIENO_API(ncclParamGetI64, param_get_i64);
ncclResult_t ripieno::api::param_get_i64(ncclParamHandle_t, int64_t*) {
  return refuse("ncclParamGetI64", kReadEnvironment);
}

RIPIENO_API(ncclParamGetU8, param_get_u8);
ncclResult_t ripieno::api::param_get_u8(ncclParamHandle_t, uint8_t*) {
  return refuse("ncclParamGetU8", kReadEnvironment);
}

RIPIENO_API(ncclParamGetU16, param_get_u16);
ncclResult_t ripieno::api::param_get_u16(ncclParamHandle_t, uint16_t*) {
  return refuse("ncclParamGetU16", kReadEnvironment);
}

RIPIENO_API(ncclParamGetU32, param_get_u32);
ncclResult_t ripieno::api::param_get_u32(ncclParamHandle_t, uint32_t*) {
  return refuse("ncclParamGetU32", kReadEnvironment);
}

RIPIENO_API(ncclParamGetU64, param_get_u64);
ncclResult_t ripieno::api::param_get_u64(ncclParamHandle_t, uint64_t*) {
  return refuse("ncclParamGetU64", kReadEnvironment);
}

RIPIENO_API(ncclParamGetStr, param_get_str);
ncclResult_t ripieno::api::param_get_str(ncclParamHandle_t, const char**) {
  return refuse("ncclParamGetStr", kReadEnvironment);
}

RIPIENO_API(ncclParamGet, param_get);
ncclResult_t ripieno::api::param_get(ncclParamHandle_t, void*, int, int*) {
  return refuse("ncclParamGet", kReadEnvironment);
}

RIPIENO_API(ncclParamGetParameter, param_get_parameter);
ncclResult_t ripieno::api::param_get_parameter(const char*, const char**, int*) {
  return refuse("ncclParamGetParameter", kReadEnvironment);
}

RIPIENO_API(ncclParamGetAllParameterKeys, param_get_all_parameter_keys);
ncclResult_t ripieno::api::param_get_all_parameter_keys(const char***, int*) {
  return refuse("ncclParamGetAllParameterKeys", kReadEnvironment);
}

RIPIENO_API(ncclParamDumpAll, param_dump_all);
void ripieno::api::param_dump_all() {
  refuse("ncclParamDumpAll", kReadEnvironment);
}

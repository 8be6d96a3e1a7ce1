// How a function of the C interface is defined. Each exists under three names at one address: the
// hidden `ripieno::api::x`, which code inside the library calls and which nobody outside can
// replace; the strong `pncclX`; and the weak `ncclX`, which a profiling library may override and
// then reach us through `pncclX`.
//
//     RIPIENO_API(ncclCommCount, comm_count);
//
//     ncclResult_t ripieno::api::comm_count(ncclComm_t comm, int* count) { ... }
//
// The first line takes the signature from the header, so a body that disagrees with it does not
// compile. It stands at global scope, in the same file as the body: an alias can only name what its
// own object file defines.
#pragma once

#ifndef RIPIENO_NEWER_API
#define RIPIENO_NEWER_API
#endif
#include <nccl.h>

#include "ripieno/nccl_newer.h"

/// Declares `ripieno::api::implementation` and exports it as `public_name` (weak) and its p-twin
/// (strong).
#define RIPIENO_API(public_name, implementation)                                               \
  namespace ripieno::api {                                                                     \
  decltype(::public_name) implementation __asm__("ripieno_api_" #public_name);                 \
  }                                                                                            \
  extern "C"                                                                                   \
      __attribute__((visibility("default"), weak,                                              \
                     alias("ripieno_api_" #public_name))) decltype(::public_name) public_name; \
  extern "C" __attribute__((                                                                   \
      visibility("default"),                                                                   \
      alias("ripieno_api_" #public_name))) decltype(::p##public_name) p##public_name

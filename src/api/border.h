// The border between C and C++: every entry point runs its body inside guard(), which turns an
// exception into its code and keeps the sentence for ncclGetLastError().
#pragma once

#include <nccl.h>

#include <new>

#include "base/error.h"
#include "base/log.h"

namespace ripieno::api {

/// Keeps and logs the sentence of a failed call: "ncclAllReduce: count is ...".
ncclResult_t report(const char* function, ncclResult_t result, const char* sentence) noexcept;

template <typename Body>
ncclResult_t guard(const char* function, Body&& body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    return report(function, error.result(), error.what());
  } catch (const std::bad_alloc&) {
    return report(function, ncclSystemError, "out of memory");
  } catch (const std::exception& error) {
    return report(function, ncclInternalError, error.what());
  }
}

/// Throws Error (ncclInvalidArgument) "<name> is NULL".
void require_pointer(const char* name, const void* pointer);

}  // namespace ripieno::api

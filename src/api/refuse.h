// The answer of a function that exists in the interface but not yet in the library: never a missing
// symbol, never a silent success, always a sentence that says which function it was and what to do
// instead.
#pragma once

#include <nccl.h>

namespace ripieno::api {

/// Keeps "<function> is not available: <advice>" for ncclGetLastError(), logs it as a warning, and
/// returns ncclInvalidUsage. `advice` says what to do instead, starting with a verb. Never throws.
ncclResult_t refuse(const char* function, const char* advice) noexcept;

}  // namespace ripieno::api

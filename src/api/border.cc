// Errors on their way out.
#include "api/border.h"

#include "api/refuse.h"

namespace ripieno::api {

ncclResult_t report(const char* function, ncclResult_t result, const char* sentence) noexcept {
  try {
    // A WARN line also becomes the last error.
    log_warn(log_subsystem::kCall, "{}: {}", function, sentence);
  } catch (...) {
    set_last_error(sentence);
  }
  return result;
}

ncclResult_t refuse(const char* function, const char* advice) noexcept {
  try {
    return report(function, ncclInvalidUsage,
                  fmt::format("not available in this version: {}", advice).c_str());
  } catch (...) {
    return ncclInvalidUsage;
  }
}

void require_pointer(const char* name, const void* pointer) {
  if (pointer == nullptr) {
    throw Error(ncclInvalidArgument, "{} is NULL", name);
  }
}

}  // namespace ripieno::api

// Which backend this process has. Asked for once, at the first use of a device, and kept until the
// process ends.
#include "device/host/backend.h"

#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "device/device.h"

namespace ripieno::device {
namespace {

std::unique_ptr<Backend> choose_backend() {
  const char* wish = std::getenv("RIPIENO_DEVICE");
  const std::string_view name = wish == nullptr ? "" : wish;
  if (name.empty() || name == "auto" || name == "host") return host::make_backend();
  if (name == "cuda") {
    throw Error(ncclInvalidUsage,
                "RIPIENO_DEVICE=cuda, but this build has no CUDA backend: use host or auto");
  }
  throw Error(ncclInvalidUsage, "RIPIENO_DEVICE is '{}': use auto, host or cuda", name);
}

}  // namespace

Backend& backend() {
  // Never destroyed: streams may still run when static objects are torn down.
  static Backend& chosen = *choose_backend().release();
  return chosen;
}

}  // namespace ripieno::device

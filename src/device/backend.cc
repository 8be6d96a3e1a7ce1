// Which backend this process has. Asked for once, at the first use of a device, and kept until the
// process ends.
#include "device/host/backend.h"

#include "base/error.h"
#include "base/parameters.h"
#include "device/device.h"

namespace ripieno::device {
namespace {

enum class Choice : std::uint8_t { kAuto, kHost, kCuda };

constexpr EnumParameter<Choice> kDevice("RIPIENO_DEVICE");

std::unique_ptr<Backend> choose_backend() {
  if (kDevice.value() == Choice::kCuda) {
    throw Error(ncclInvalidUsage,
                "RIPIENO_DEVICE=cuda, but this build has no CUDA backend: use host or auto");
  }
  return host::make_backend();
}

}  // namespace

Backend& backend() {
  // Never destroyed: streams may still run when static objects are torn down.
  static Backend& chosen = *choose_backend().release();
  return chosen;
}

}  // namespace ripieno::device

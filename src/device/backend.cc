// Which backend this process has. Asked for once, at the first use of a device, and kept until the
// process ends.
#include "device/cuda/backend.h"

#include <dlfcn.h>

#include "base/error.h"
#include "base/parameters.h"
#include "device/device.h"
#include "device/host/backend.h"

namespace ripieno::device {
namespace {

enum class Choice : std::uint8_t { kAuto, kHost, kCuda };

constexpr EnumParameter<Choice> kDevice("RIPIENO_DEVICE");

#ifdef RIPIENO_HAS_CUDA
constexpr bool kHasCuda = true;
#else
constexpr bool kHasCuda = false;
#endif

/// Whether the program's calls to the CUDA runtime go to virtual devices: then its pointers are
/// theirs, whatever GPUs the machine has.
bool application_uses_host_runtime() noexcept {
  return dlsym(RTLD_DEFAULT, "ripieno_host_cudart_present") != nullptr;
}

std::unique_ptr<Backend> choose_backend() {
  const Choice choice = kDevice.value();
  if constexpr (kHasCuda) {
    if (choice == Choice::kCuda) return cuda::make_backend();
    if (choice == Choice::kAuto && !application_uses_host_runtime() && cuda::is_available()) {
      return cuda::make_backend();
    }
  }
  if (choice == Choice::kCuda) {
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

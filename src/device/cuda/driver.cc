// Looking the driver up, once.
#include "device/cuda/driver.h"

#include <dlfcn.h>

#include <optional>

namespace ripieno::device::cuda {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<Driver> load() noexcept {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  // The names carry the version of the interface that the header's declarations stand for.
  Driver found{};
  const bool complete =
      find(library, "cuGetErrorString", found.error_text) &&
      find(library, "cuStreamBatchMemOp_v2", found.batch_mem_op) &&
      find(library, "cuPointerGetAttributes", found.pointer_attributes) &&
      find(library, "cuDeviceGetAttribute", found.device_attribute) &&
      find(library, "cuMemGetAllocationGranularity", found.granularity) &&
      find(library, "cuMemCreate", found.create) && find(library, "cuMemRelease", found.release) &&
      find(library, "cuMemAddressReserve", found.reserve) &&
      find(library, "cuMemAddressFree", found.free_address) &&
      find(library, "cuMemMap", found.map) && find(library, "cuMemUnmap", found.unmap) &&
      find(library, "cuMemSetAccess", found.set_access) &&
      find(library, "cuMemRetainAllocationHandle", found.retain) &&
      find(library, "cuMemExportToShareableHandle", found.export_handle) &&
      find(library, "cuMemImportFromShareableHandle", found.import_handle);
  return complete ? std::optional(found) : std::nullopt;
}

const std::optional<Driver>& loaded() noexcept {
  static const std::optional<Driver> found = load();
  return found;
}

}  // namespace

bool has_driver() noexcept {
  return loaded().has_value();
}

const Driver& driver() noexcept {
  return *loaded();
}

}  // namespace ripieno::device::cuda

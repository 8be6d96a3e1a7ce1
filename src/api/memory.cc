// Memory that any rank of the host can map.
#include <new>

#include "api/border.h"
#include "api/declare.h"
#include "device/device.h"

RIPIENO_API(ncclMemAlloc, mem_alloc);
ncclResult_t ripieno::api::mem_alloc(void** pointer, std::size_t size) {
  return guard("ncclMemAlloc", [&] {
    require_pointer("ptr", pointer);
    *pointer = nullptr;
    if (size != 0) {
      device::Backend& backend = device::backend();
      *pointer = backend.device(backend.current_device()).allocate_shareable(size);
    }
    return ncclSuccess;
  });
}

RIPIENO_API(ncclMemFree, mem_free);
ncclResult_t ripieno::api::mem_free(void* pointer) {
  return guard("ncclMemFree", [&] {
    if (pointer != nullptr) {
      device::Backend& backend = device::backend();
      backend.device(backend.current_device()).release(pointer);
    }
    return ncclSuccess;
  });
}

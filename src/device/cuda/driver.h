// The driver's functions that the runtime does not offer, found at run time: the library loads on
// machines that have no driver.
#pragma once

#include <cuda.h>

namespace ripieno::device::cuda {

struct Driver {
  decltype(&cuGetErrorString) error_text;
  decltype(&cuStreamBatchMemOp) batch_mem_op;
  decltype(&cuPointerGetAttributes) pointer_attributes;
  decltype(&cuDeviceGetAttribute) device_attribute;
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free_address;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
  decltype(&cuMemRetainAllocationHandle) retain;
  decltype(&cuMemExportToShareableHandle) export_handle;
  decltype(&cuMemImportFromShareableHandle) import_handle;
};

/// Whether there is a driver with all of these.
[[nodiscard]] bool has_driver() noexcept;
/// Only where has_driver().
[[nodiscard]] const Driver& driver() noexcept;

}  // namespace ripieno::device::cuda

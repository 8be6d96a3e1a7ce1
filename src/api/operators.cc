// Operators of the user's own.
#include <cstring>

#include "api/border.h"
#include "api/declare.h"
#include "base/reduce.h"
#include "comm/registry.h"

RIPIENO_API(ncclRedOpCreatePreMulSum, create_pre_mul_sum);
ncclResult_t ripieno::api::create_pre_mul_sum(ncclRedOp_t* handle, void* scalar,
                                              ncclDataType_t type, ncclScalarResidence_t residence,
                                              ncclComm_t comm) {
  return guard("ncclRedOpCreatePreMulSum", [&] {
    require_pointer("op", handle);
    require_pointer("scalar", scalar);
    const auto communicator = comm::find_handle(comm);
    communicator->require(comm::Call::kOperation);
    if (type_size(type) == 0) {
      throw Error(ncclInvalidArgument, "datatype is {}; valid values are 0 to {}",
                  static_cast<int>(type), ncclNumTypes - 1);
    }
    comm::PreMulSum definition{.type = type, .scalar = 0, .device_scalar = nullptr};
    switch (residence) {
      case ncclScalarHostImmediate:
        std::memcpy(&definition.scalar, scalar, type_size(type));
        break;
      case ncclScalarDevice:
        definition.device_scalar = static_cast<const std::byte*>(scalar);
        break;
      default:
        throw Error(ncclInvalidArgument,
                    "residence is {}; valid values are ncclScalarDevice (0) and "
                    "ncclScalarHostImmediate (1)",
                    static_cast<int>(residence));
    }
    *handle = communicator->operators().add(definition);
    return ncclSuccess;
  });
}

RIPIENO_API(ncclRedOpDestroy, destroy_operator);
ncclResult_t ripieno::api::destroy_operator(ncclRedOp_t handle, ncclComm_t comm) {
  return guard("ncclRedOpDestroy", [&] {
    const auto communicator = comm::find_handle(comm);
    communicator->operators().remove(handle);
    return ncclSuccess;
  });
}

// Registered memory in the C interface.
#include <memory>

#include "api/border.h"
#include "api/declare.h"
#include "api/group.h"
#include "api/job.h"
#include "base/parameters.h"
#include "comm/derivation.h"
#include "comm/registry.h"

namespace ripieno::api {
namespace {

constexpr BoolParameter kLocalRegister{"NCCL_LOCAL_REGISTER"};

void check_memory(const void* buffer, std::size_t bytes) {
  require_pointer("buff", buffer);
  if (bytes == 0) {
    throw Error(ncclInvalidArgument, "size is 0; register at least one byte");
  }
}

}  // namespace
}  // namespace ripieno::api

RIPIENO_API(ncclCommRegister, comm_register);
ncclResult_t ripieno::api::comm_register(const ncclComm_t handle, void* buffer, std::size_t bytes,
                                         void** registration) {
  return guard("ncclCommRegister", [&] {
    require_pointer("handle", registration);
    *registration = nullptr;
    const auto communicator = comm::find_handle(handle);
    communicator->require(comm::Call::kQuestion);
    check_memory(buffer, bytes);
    if (kLocalRegister.value()) {
      *registration = communicator->registrations().add_buffer(buffer, bytes);
    }
    return ncclSuccess;
  });
}

RIPIENO_API(ncclCommDeregister, comm_deregister);
ncclResult_t ripieno::api::comm_deregister(const ncclComm_t handle, void* registration) {
  return guard("ncclCommDeregister", [&] {
    const auto communicator = comm::find_handle(handle);
    if (registration != nullptr) {
      communicator->registrations().remove_buffer(registration);
    }
    return ncclSuccess;
  });
}

RIPIENO_API(ncclCommWindowRegister, comm_window_register);
ncclResult_t ripieno::api::comm_window_register(ncclComm_t handle, void* buffer, std::size_t bytes,
                                                ncclWindow_t* window, int flags) {
  return guard_in_group("ncclCommWindowRegister", [&] {
    require_pointer("win", window);
    *window = nullptr;
    auto communicator = comm::find_handle(handle);
    check_memory(buffer, bytes);
    constexpr int kKnown = NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING;
    if ((flags & ~kKnown) != 0) {
      throw Error(ncclInvalidArgument, "winFlags is {:#x}; valid flags are {:#x}", flags, kKnown);
    }
    const auto derivation = std::make_shared<comm::Derivation>(communicator, comm::Call::kDerive,
                                                               "ncclCommWindowRegister");
    return start(
        {.communicator = std::move(communicator),
         .work = [=] { *window = comm::register_window(*derivation, buffer, bytes, flags); },
         .deliver = [] {},
         .withdraw = [] {},
         .cancel = [] {}});
  });
}

RIPIENO_API(ncclCommWindowDeregister, comm_window_deregister);
ncclResult_t ripieno::api::comm_window_deregister(ncclComm_t handle, ncclWindow_t window) {
  return guard("ncclCommWindowDeregister", [&] {
    const auto communicator = comm::find_handle(handle);
    if (window != nullptr) {
      communicator->registrations().remove_window(window);
    }
    return ncclSuccess;
  });
}

RIPIENO_API(ncclWinGetUserPtr, win_get_user_ptr);
ncclResult_t ripieno::api::win_get_user_ptr(ncclComm_t handle, ncclWindow_t window,
                                            void** pointer) {
  return guard("ncclWinGetUserPtr", [&] {
    require_pointer("outUserPtr", pointer);
    *pointer = nullptr;
    const auto communicator = comm::find_handle(handle);
    if (window != nullptr) {
      *pointer = communicator->registrations().user_pointer(window);
    }
    return ncclSuccess;
  });
}

// Memory and events of other processes by 64-byte handle.
#include <bit>

#include "hostrt/api.h"
#include "hostrt/arena.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/event.h"
#include "hostrt/import.h"
#include "hostrt/shared_event.h"

namespace ripieno::hostrt::cuda {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return call([&] {
    require(handle != nullptr && pointer != nullptr, "no pointer, or no place for the handle");
    const auto block = Arena::instance().find(pointer);
    require(block && block->kind == MemoryKind::kDevice, "not device memory of this process");
    const std::byte* base = Arena::instance().base() + block->extent.begin;
    *handle =
        std::bit_cast<cudaIpcMemHandle_t>(make_ipc_ticket(base, block->device, IpcKind::kMemory));
  });
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
  return call([&] {
    require(pointer != nullptr && flags == cudaIpcMemLazyEnablePeerAccess,
            "no place for the pointer, or flags other than cudaIpcMemLazyEnablePeerAccess");
    current_virtual_device();
    *pointer = open_ipc_memory(std::bit_cast<IpcTicket>(handle));
  });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return call([&] {
    require(pointer != nullptr, "no pointer");
    current_virtual_device().synchronize();
    close_ipc_memory(pointer);
  });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return call([&] {
    require(handle != nullptr, "no place for the handle");
    Event& shared = resolve_event(event);
    const bool ours =
        shared.interprocess() && shared.shared() && arena_offset(shared.shared()->memory());
    if (!ours)
      fail(cudaErrorInvalidResourceHandle,
           "the event was not created here with cudaEventInterprocess");
    *handle = std::bit_cast<cudaIpcEventHandle_t>(
        make_ipc_ticket(shared.shared()->memory(), shared.device(), IpcKind::kEvent));
  });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return call([&] {
    require(event != nullptr, "no place for the event");
    const auto ticket = std::bit_cast<IpcTicket>(handle);
    auto shared = SharedEvent::open(import_arena(ticket, IpcKind::kEvent), ticket.offset);
    Event* opened = Event::Pool::create(current_virtual_device().ordinal(),
                                        cudaEventInterprocess | cudaEventDisableTiming);
    opened->share(std::move(shared));
    *event = Event::Pool::handle_of(opened);
  });
}

}  // namespace ripieno::hostrt::cuda

// Two tables, and the exchange that makes a window.
#include "comm/registrations.h"

#include <algorithm>

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/derivation.h"
#include "device/device.h"

namespace ripieno::comm {

template <typename Thing>
Thing& Registrations::Table<Thing>::add(const Key& key) {
  Thing*& thing = by_key[key];
  if (thing == nullptr) {
    auto made = std::make_unique<Thing>();
    thing = made.get();
    by_handle[thing] = {.thing = std::move(made), .key = key};
  }
  ++by_handle[thing].references;
  return *thing;
}

template <typename Thing>
void Registrations::Table<Thing>::remove(const void* handle, const char* what) {
  const auto found = by_handle.find(handle);
  if (found == by_handle.end()) {
    throw Error(ncclInvalidUsage,
                "{} {} is not registered with this communicator, or was deregistered as often as "
                "it was registered",
                what, handle);
  }
  if (--found->second.references == 0) {
    by_key.erase(found->second.key);
    by_handle.erase(found);
  }
}

void* Registrations::add_buffer(void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return &buffers_.add({address, bytes, 0});
}

void Registrations::remove_buffer(void* handle) {
  const std::lock_guard lock(mutex_);
  buffers_.remove(handle, "handle");
}

ncclWindow_t Registrations::add_window(void* address, std::size_t bytes, int flags,
                                       std::vector<ncclWindow_vidmem::Part> parts) {
  const std::lock_guard lock(mutex_);
  ncclWindow_vidmem& window = windows_.add({address, bytes, flags});
  window.user_pointer = address;
  window.flags = flags;
  window.parts = std::move(parts);
  return &window;
}

void Registrations::remove_window(ncclWindow_t window) {
  const std::lock_guard lock(mutex_);
  windows_.remove(window, "window");
}

void* Registrations::user_pointer(ncclWindow_t window) const {
  const std::lock_guard lock(mutex_);
  const auto found = windows_.by_handle.find(window);
  if (found == windows_.by_handle.end()) {
    throw Error(ncclInvalidUsage, "window {} is not registered with this communicator",
                fmt::ptr(window));
  }
  return window->user_pointer;
}

ncclWindow_t register_window(Derivation& derivation, void* address, std::size_t bytes, int flags) {
  struct Offer {
    ncclWindow_vidmem::Part part;
    int flags;
    int is_shareable;
  };
  Communicator& communicator = derivation.parent();
  device::Backend& backend = device::backend();
  const auto first = backend.share_offset(address);
  const auto last = backend.share_offset(static_cast<const std::byte*>(address) + bytes - 1);
  const Offer mine{.part = {.offset = first.value_or(0), .bytes = bytes},
                   .flags = flags,
                   .is_shareable = first && last ? 1 : 0};
  const auto offers = derivation.meet_all(communicator.cancellation())->gather_records(mine);
  std::vector<ncclWindow_vidmem::Part> parts;
  bool is_shareable = true;
  for (std::size_t rank = 0; rank < offers.size(); ++rank) {
    if (offers[rank].flags != flags) {
      throw Error(ncclInvalidArgument, "winFlags is {} on rank {} and {} on rank {}", flags,
                  communicator.rank(), offers[rank].flags, rank);
    }
    is_shareable &= offers[rank].is_shareable != 0;
    parts.push_back(offers[rank].part);
  }
  return is_shareable
             ? communicator.registrations().add_window(address, bytes, flags, std::move(parts))
             : nullptr;
}

}  // namespace ripieno::comm

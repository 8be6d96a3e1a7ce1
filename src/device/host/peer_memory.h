// Arenas of other processes, mapped here. A process is mapped once however many communicators reach
// it: the mapping lives as long as somebody holds it, and a later import of the same ticket finds
// it again.
#pragma once

#include <chrono>
#include <memory>

#include "device/device.h"

namespace ripieno::device::host {

/// Maps the arena that `ticket` names, or returns the mapping that exists. Threads that import
/// different tickets do not wait for each other. The ticket of this very process maps nothing: its
/// arena is at hand.
[[nodiscard]] std::shared_ptr<PeerMemory> import_arena(const MemoryTicket& ticket,
                                                       std::chrono::milliseconds timeout);

}  // namespace ripieno::device::host

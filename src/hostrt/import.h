// Device memory of other processes, mapped here through a 64-byte handle: what cudaIpc* stands on.
// A peer's arena is mapped once, however many of its allocations are opened.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "hostrt/owned_fd.h"
#include "hostrt/runtime.h"

namespace ripieno::hostrt {

/// One mapped arena of another process (or our own, when a handle comes home).
class Import {
 public:
  Import(std::span<std::byte> memory, OwnedFd link, bool own) noexcept
      : memory_(memory), link_(std::move(link)), own_(own) {}
  ~Import();
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;

  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// Whether the process that owns the memory has ended.
  [[nodiscard]] bool owner_gone() const noexcept;

 private:
  std::span<std::byte> memory_;
  OwnedFd link_;
  bool own_;
};

/// What an interprocess handle holds.
struct IpcTicket {
  std::uint64_t token;  ///< Of the owner's share server.
  std::array<std::byte, 32> secret;
  std::uint64_t offset;
  std::uint64_t bytes;  ///< Size of the arena.
  std::uint16_t device;
  std::uint16_t kind;  ///< IpcKind
  std::uint32_t id;    ///< Of the arena's descriptor at the server.
};
static_assert(sizeof(IpcTicket) == CUDA_IPC_HANDLE_SIZE);

enum class IpcKind : std::uint16_t { kMemory = 0x4d31, kEvent = 0x4531 };

/// A handle for the memory at `pointer`, which lies in our arena.
IpcTicket make_ipc_ticket(const void* pointer, int device, IpcKind kind);

/// Maps the arena a ticket speaks of. Throws RuntimeError.
std::shared_ptr<Import> import_arena(const IpcTicket& ticket, IpcKind expected);

/// Opens and closes allocations; an address opened n times is closed n times. open() checks the
/// ticket.
void* open_ipc_memory(const IpcTicket& ticket);
void close_ipc_memory(void* pointer);

/// The device of an address that lies in memory opened here.
std::optional<int> imported_device(const void* pointer);

}  // namespace ripieno::hostrt

// Import of arenas: fetch the descriptor, map the whole file, remember the mapping for as long as
// it is held.
#include "device/host/peer_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <compare>
#include <map>
#include <mutex>
#include <utility>

#include "base/unique_fd.h"
#include "device/host/errors.h"

namespace ripieno::device::host {
namespace {

/// The arena of another process.
class MappedArena final : public PeerMemory {
 public:
  MappedArena(std::span<std::byte> bytes, UniqueFd link, int process_id) noexcept
      : bytes_(bytes), link_(std::move(link)), process_id_(process_id) {}
  ~MappedArena() override { ::munmap(bytes_.data(), bytes_.size()); }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return bytes_; }
  [[nodiscard]] int process_id() const noexcept override { return process_id_; }
  [[nodiscard]] int link() const noexcept override { return link_.get(); }

 private:
  std::span<std::byte> bytes_;
  UniqueFd link_;
  int process_id_;
};

/// This process's own arena, handed to those that ask for it as if it were a peer's.
class OwnArena final : public PeerMemory {
 public:
  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return hostrt::arena(); }
  [[nodiscard]] int process_id() const noexcept override { return ::getpid(); }
  [[nodiscard]] int link() const noexcept override { return -1; }
};

/// Maps all of the file, so that allocations the peer makes later are reachable too. Nothing is
/// committed by it: pages belong to the peer.
std::span<std::byte> map_whole(int fd, std::uint64_t bytes, int owner) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw Error::system("reading the size of a peer's memory", errno);
  if (bytes == 0 || static_cast<std::uint64_t>(status.st_size) < bytes) {
    throw Error(ncclUnhandledCudaError,
                "mapping the memory of process {}: it announced {} bytes but shares {}", owner,
                bytes, status.st_size);
  }
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (address == MAP_FAILED) {
    throw Error(ncclUnhandledCudaError, "mapping {} bytes of the memory of process {}: {}", bytes,
                owner, Error::system("mmap", errno).what());
  }
  ::madvise(address, bytes, MADV_DONTDUMP);
  return {static_cast<std::byte*>(address), bytes};
}

/// A peer that is gone, silent or refuses is not a failure of the runtime here.
hostrt::FetchedFd fetch(const hostrt::FdTicket& ticket, std::chrono::milliseconds timeout) {
  constexpr const char* kWhat = "importing the memory of a peer process";
  try {
    return hostrt::fetch_fd(ticket, timeout);
  } catch (const hostrt::RuntimeError& failure) {
    const bool is_local = failure.code() == cudaErrorOperatingSystem;
    throw Error(is_local ? ncclSystemError : ncclRemoteError, "{}: {}", kWhat, failure.what());
  }
}

std::shared_ptr<PeerMemory> map_peer(const hostrt::FdTicket& ticket,
                                     std::chrono::milliseconds timeout) {
  const hostrt::FetchedFd fetched = fetch(ticket, timeout);
  const UniqueFd file(fetched.fd);
  UniqueFd link(fetched.link);
  const std::span<std::byte> bytes = map_whole(file.get(), ticket.bytes, fetched.owner_pid);
  return std::make_shared<MappedArena>(bytes, std::move(link), fetched.owner_pid);
}

/// What tells one shared file from another. The secret belongs to it: who does not know it must not
/// find the mapping.
struct Key {
  std::array<char, 48> socket_name;
  std::array<std::byte, 32> secret;
  std::uint64_t id;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const hostrt::FdTicket& ticket) {
  return {ticket.socket_name, ticket.secret, ticket.id};
}

/// Mappings in use. A slot has its own lock, because filling it waits for another process.
class Cache {
 public:
  std::shared_ptr<PeerMemory> import(const hostrt::FdTicket& ticket,
                                     std::chrono::milliseconds timeout) {
    const std::shared_ptr<Slot> slot = slot_of(key_of(ticket));
    const std::lock_guard lock(slot->mutex);
    if (std::shared_ptr<PeerMemory> known = slot->memory.lock()) return known;
    std::shared_ptr<PeerMemory> mapped = map_peer(ticket, timeout);
    slot->memory = mapped;
    return mapped;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<PeerMemory> memory;  ///< Guarded by `mutex`.
  };

  std::shared_ptr<Slot> slot_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    // A slot that only the table knows has no user and gets none while mutex_ is held. Its own lock
    // is taken all the same: it orders this look after whatever the last user did.
    std::erase_if(slots_, [](const auto& entry) {
      if (entry.second.use_count() != 1) return false;
      const std::lock_guard slot_lock(entry.second->mutex);
      return entry.second->memory.expired();
    });
    std::shared_ptr<Slot>& slot = slots_[key];
    if (!slot) slot = std::make_shared<Slot>();
    return slot;
  }

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Slot>> slots_;  ///< Guarded by mutex_.
};

}  // namespace

std::shared_ptr<PeerMemory> import_arena(const MemoryTicket& ticket,
                                         std::chrono::milliseconds timeout) {
  const hostrt::FdTicket own =
      guarded("sharing device memory", [] { return hostrt::arena_ticket(); });
  if (key_of(own) == key_of(ticket.arena)) return std::make_shared<OwnArena>();
  // Never destroyed: static objects of the program may hold mappings and ask for them to the end.
  static Cache& cache = *new Cache;
  return cache.import(ticket.arena, timeout);
}

}  // namespace ripieno::device::host

// Mapping and counting of imported memory; see import.h.
#include "hostrt/import.h"

#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "hostrt/arena.h"
#include "hostrt/share_server.h"

namespace ripieno::hostrt {
namespace {

constexpr std::chrono::seconds kFetchLimit{10};

struct Opened {
  std::shared_ptr<Import> import;
  int device;
  int count;
};

struct Imports {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<Import>> by_token;
  std::map<void*, Opened> opened;
};

/// Never destroyed: streams may still touch imported memory while the process exits.
Imports& imports() {
  static auto* const all = new Imports;
  return *all;
}

std::shared_ptr<Import> map_arena(const IpcTicket& ticket) {
  if (ticket.token == ShareServer::instance().token()) {
    return std::make_shared<Import>(Arena::range(), OwnedFd(), true);
  }
  FdTicket fetch{};
  const std::string name = ShareServer::name_of(ticket.token);
  std::copy(name.begin(), name.end(), fetch.socket_name.begin());
  fetch.secret = ticket.secret;
  fetch.id = ticket.id;
  fetch.bytes = ticket.bytes;
  const FetchedFd fetched = fetch_fd(fetch, kFetchLimit);
  const OwnedFd file(fetched.fd);
  OwnedFd link(fetched.link);
  void* mapped = mmap(nullptr, ticket.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      file.get(), 0);
  if (mapped == MAP_FAILED) {
    throw RuntimeError(cudaErrorMapBufferObjectFailed,
                       "no address space to map another process's device memory");
  }
  madvise(mapped, ticket.bytes, MADV_DONTFORK);
  return std::make_shared<Import>(std::span(static_cast<std::byte*>(mapped), ticket.bytes),
                                  std::move(link), false);
}

}  // namespace

Import::~Import() {
  if (!own_) munmap(memory_.data(), memory_.size());
}

bool Import::owner_gone() const noexcept {
  if (!link_) return false;
  pollfd entry{.fd = link_.get(), .events = POLLRDHUP, .revents = 0};
  return poll(&entry, 1, 0) > 0;
}

IpcTicket make_ipc_ticket(const void* pointer, int device, IpcKind kind) {
  const FdTicket arena = arena_ticket();
  return {.token = ShareServer::instance().token(),
          .secret = arena.secret,
          .offset = arena_offset(pointer).value(),
          .bytes = arena.bytes,
          .device = static_cast<std::uint16_t>(device),
          .kind = static_cast<std::uint16_t>(kind),
          .id = static_cast<std::uint32_t>(arena.id)};
}

std::shared_ptr<Import> import_arena(const IpcTicket& ticket, IpcKind expected) {
  if (ticket.kind != static_cast<std::uint16_t>(expected) || ticket.offset >= ticket.bytes) {
    throw RuntimeError(cudaErrorInvalidResourceHandle,
                       "this is not an interprocess handle of the host runtime");
  }
  Imports& all = imports();
  const std::lock_guard guard(all.mutex);
  std::weak_ptr<Import>& known = all.by_token[ticket.token];
  if (std::shared_ptr<Import> import = known.lock()) return import;
  std::shared_ptr<Import> import = map_arena(ticket);
  known = import;
  return import;
}

void* open_ipc_memory(const IpcTicket& ticket) {
  std::shared_ptr<Import> import = import_arena(ticket, IpcKind::kMemory);
  void* pointer = import->memory().data() + ticket.offset;
  Imports& all = imports();
  const std::lock_guard guard(all.mutex);
  Opened& opened =
      all.opened.try_emplace(pointer, Opened{std::move(import), ticket.device, 0}).first->second;
  ++opened.count;
  return pointer;
}

void close_ipc_memory(void* pointer) {
  Imports& all = imports();
  std::shared_ptr<Import> last;  // unmapped after the lock
  const std::lock_guard guard(all.mutex);
  const auto found = all.opened.find(pointer);
  if (found == all.opened.end()) {
    throw RuntimeError(cudaErrorInvalidValue,
                       "the pointer to close was not opened from an interprocess handle");
  }
  if (--found->second.count > 0) return;
  last = std::move(found->second.import);
  all.opened.erase(found);
}

std::optional<int> imported_device(const void* pointer) {
  Imports& all = imports();
  const auto* address = static_cast<const std::byte*>(pointer);
  const std::lock_guard guard(all.mutex);
  for (const auto& [base, opened] : all.opened) {
    const std::span<std::byte> memory = opened.import->memory();
    if (address >= memory.data() && address < memory.data() + memory.size()) return opened.device;
  }
  return std::nullopt;
}

}  // namespace ripieno::hostrt

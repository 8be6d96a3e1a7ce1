// One exchange of PeerInfo, then everyone maps what it needs.
#include "connect/host_links.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/process.h"

namespace ripieno::connect {
namespace {

using transport::ControlPage;
using transport::HostPeer;

std::uint64_t process_token() {
  static const std::uint64_t token = [] {
    std::uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
      throw Error::system("cannot draw a random number (getrandom)", errno);
    }
    return value;
  }();
  // A child made by fork() is another process with the same memory.
  return token ^ (static_cast<std::uint64_t>(getpid()) << 32);
}

/// Keeps the control page published while peers fetch it.
class Publication {
 public:
  explicit Publication(const ControlPage& page)
      : ticket_(hostrt::publish_fd(page.fd(), page.bytes())) {}
  ~Publication() { hostrt::withdraw_fd(ticket_); }
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;
  [[nodiscard]] const hostrt::FdTicket& ticket() const noexcept { return ticket_; }

 private:
  hostrt::FdTicket ticket_;
};

/// Control pages that ranks of this process have mapped, so that each process maps a page once.
class MappedPages {
 public:
  static MappedPages& instance() {
    static auto* const pages = new MappedPages;
    return *pages;
  }

  void add(const hostrt::FdTicket& ticket, const std::shared_ptr<ControlPage>& page) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pages_, [](const auto& entry) { return entry.second.expired(); });
    pages_[key(ticket)] = page;
  }

  std::shared_ptr<ControlPage> open(const hostrt::FdTicket& ticket, int ranks,
                                    std::chrono::milliseconds timeout) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<ControlPage>& entry = pages_[key(ticket)];
    std::shared_ptr<ControlPage> page = entry.lock();
    if (!page) {
      const hostrt::FetchedFd fetched = hostrt::fetch_fd(ticket, timeout);
      close(fetched.link);
      page = ControlPage::open(UniqueFd(fetched.fd), ranks);
      entry = page;
    }
    return page;
  }

 private:
  static std::string key(const hostrt::FdTicket& ticket) {
    return std::string(ticket.socket_name.data(), ticket.socket_name.size()) +
           std::to_string(ticket.id);
  }

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ControlPage>> pages_;
};

/// Runs `fetch`, which gets something from the process of `rank`. That this process is gone or
/// hangs up is told as ncclRemoteError with the rank's number.
template <typename Fetch>
auto fetch_from(int rank, const PeerInfo& peer, Fetch fetch) {
  const auto blame = [&](const char* sentence) {
    return Error(ncclRemoteError, "rank {} (process {}) ended while the communicator was made: {}",
                 rank, peer.process_id, sentence);
  };
  try {
    return fetch();
  } catch (const hostrt::RuntimeError& error) {
    if (error.code() == cudaErrorOperatingSystem) {
      throw Error(ncclSystemError, "{}", error.what());
    }
    throw blame(error.what());
  } catch (const Error& error) {
    if (error.result() == ncclRemoteError) {
      throw blame(error.what());
    }
    throw;
  }
}

PeerInfo describe_self(int device, std::uint64_t tuning) {
  PeerInfo info{};
  info.host_hash = host_hash();
  info.process_token = process_token();
  info.process_id = getpid();
  info.device = device;
  info.version = NCCL_VERSION_CODE;
  info.tuning = tuning;
  const std::string bus_id = device::backend().device(device).bus_id();
  std::memcpy(info.bus_id.data(), bus_id.data(), std::min(bus_id.size(), info.bus_id.size() - 1));
  const std::string& name = host_name();
  std::memcpy(info.host_name.data(), name.data(), std::min(name.size(), info.host_name.size() - 1));
  info.memory = device::backend().memory_ticket();
  return info;
}

void check_same_host(const std::vector<PeerInfo>& peers) {
  const auto other = std::find_if(peers.begin(), peers.end(), [&](const PeerInfo& peer) {
    return peer.host_hash != peers.front().host_hash;
  });
  if (other != peers.end()) {
    throw Error(
        ncclInvalidUsage,
        "rank 0 runs on host {} and rank {} on host {}: this version has no network transport "
        "yet, so all ranks must run on one host (NCCL_HOSTID, if set, must be equal)",
        peers.front().host_name.data(), other - peers.begin(), other->host_name.data());
  }
}

/// Groups the ranks by process and maps the memory of each process once.
void map_processes(HostLinks& links, std::vector<HostPeer>& team_peers, int self,
                   std::chrono::milliseconds timeout) {
  std::map<std::uint64_t, std::size_t> index_of;
  for (std::size_t rank = 0; rank < links.peers.size(); ++rank) {
    const PeerInfo& info = links.peers[rank];
    const bool same_process =
        info.process_token == links.peers[static_cast<std::size_t>(self)].process_token;
    const auto [entry, is_new] = index_of.try_emplace(info.process_token, links.processes.size());
    if (is_new) {
      std::shared_ptr<device::PeerMemory> memory = fetch_from(static_cast<int>(rank), info, [&] {
        return device::backend().import_memory(info.memory, timeout);
      });
      links.processes.push_back({.process_id = same_process ? getpid() : memory->process_id(),
                                 .link = memory->link(),
                                 .memory = memory,
                                 .ranks = {}});
    }
    PeerProcess& process = links.processes[entry->second];
    process.ranks.push_back(static_cast<int>(rank));
    team_peers.push_back({.same_process = same_process, .memory = process.memory});
  }
  std::erase_if(links.processes, [&](const PeerProcess& process) {
    return std::find(process.ranks.begin(), process.ranks.end(), self) != process.ranks.end();
  });
}

}  // namespace

HostLinks connect_host(bootstrap::Gathering& gathering, int device, std::uint64_t tuning,
                       std::chrono::milliseconds timeout) {
  const int rank = gathering.rank();
  const int ranks = gathering.ranks();
  PeerInfo self = describe_self(device, tuning);
  std::shared_ptr<ControlPage> page;
  std::unique_ptr<Publication> publication;
  if (rank == 0) {
    page = ControlPage::create(ranks);
    if (ranks > 1) {
      publication = std::make_unique<Publication>(*page);
      self.control_page = publication->ticket();
      MappedPages::instance().add(self.control_page, page);
    }
  }

  HostLinks links;
  links.peers = gathering.gather_records(self);
  check_same_host(links.peers);
  if (!page) {
    page = fetch_from(0, links.peers.front(), [&] {
      return MappedPages::instance().open(links.peers.front().control_page, ranks, timeout);
    });
  }
  std::vector<HostPeer> team_peers;
  map_processes(links, team_peers, rank, timeout);

  transport::RankLine& line = page->line(rank);
  line.process_id = getpid();
  observe::FlightLine& flight = page->flight_line(rank);
  flight.process_id.store(getpid(), std::memory_order_relaxed);
  flight.presence.store(static_cast<std::uint32_t>(transport::Presence::kJoined),
                        std::memory_order_relaxed);
  line.presence.store(transport::Presence::kJoined, std::memory_order_seq_cst);
  links.team = std::make_unique<transport::HostTeam>(page, rank, std::move(team_peers));
  gathering.barrier();
  return links;
}

}  // namespace ripieno::connect

// One exchange: rank 0 makes the page, every other process fetches it; the ranks of a process share
// one Team.
#include "connect/cuda/gpu_team.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "coll/cuda/launch.h"
#include "coll/cuda/work.h"
#include "device/cuda/errors.h"
#include "hostrt/runtime.h"
#include "plan/cuda/executor.h"

namespace ripieno::connect {
namespace {

using device::cuda::check;
using device::cuda::CurrentDevice;
using plan::gpu::Meeting;
using plan::gpu::Page;
using plan::gpu::Team;

/// What rank 0 tells the others. Trivially copyable.
struct Invitation {
  std::uint64_t key;  ///< Names the team inside a process.
  hostrt::FdTicket page;
};

/// Teams that ranks of this process have, by key.
class Teams {
 public:
  static Teams& instance() {
    static auto* const teams = new Teams;
    return *teams;
  }
  /// The team of `key`, made by `make` for the first rank that asks.
  template <typename Make>
  std::shared_ptr<Team> find(std::uint64_t key, Make make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(teams_, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<Team> team = teams_[key].lock();
    if (!team) {
      team = make();
      teams_[key] = team;
    }
    return team;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<Team>> teams_;
};

std::uint64_t random_key() {
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof key, 0) != static_cast<ssize_t>(sizeof key)) {
    throw Error::system("cannot draw a random number (getrandom)", errno);
  }
  return key;
}

/// Kernels of one device that work for ranks of several touch memory of all of them.
void reach_devices_of_process(const std::vector<int>& devices, int own) {
  const std::set<int> distinct(devices.begin(), devices.end());
  for (const int other : distinct) {
    if (other < 0 || other == own) continue;
    int reachable = 0;
    check(cudaDeviceCanAccessPeer(&reachable, own, other), "asking for access to a peer device");
    if (reachable == 0) {
      throw Error(ncclInvalidUsage,
                  "device {} cannot reach the memory of device {} (no peer access); this version "
                  "needs it between the GPUs of a communicator",
                  own, other);
    }
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(other, 0);
    if (enabled == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
    } else {
      check(enabled, "enabling access to a peer device");
    }
  }
}

std::vector<int> devices_of(const HostLinks& links, int self) {
  std::vector<int> devices;
  const PeerInfo& own = links.peers[static_cast<std::size_t>(self)];
  for (const PeerInfo& peer : links.peers) {
    devices.push_back(peer.process_token == own.process_token ? peer.device : -1);
  }
  return devices;
}

std::shared_ptr<Team> make_team(std::vector<int> devices, UniqueFd page) {
  auto team = std::make_shared<Team>();
  team->devices = std::move(devices);
  team->page = std::make_unique<Page>(team->ranks(), std::move(page));
  if (std::ranges::all_of(team->devices, [](int device) { return device >= 0; })) {
    team->meeting = std::make_unique<Meeting>(team->devices);
  }
  return team;
}

UniqueFd fetch_page(const hostrt::FdTicket& ticket, std::chrono::milliseconds timeout) {
  try {
    const hostrt::FetchedFd fetched = hostrt::fetch_fd(ticket, timeout);
    close(fetched.link);
    return UniqueFd(fetched.fd);
  } catch (const hostrt::RuntimeError& error) {
    throw Error(ncclRemoteError, "rank 0 ended while the communicator was made: {}", error.what());
  }
}

}  // namespace

std::unique_ptr<plan::Executor> make_gpu_executor(bootstrap::Gathering& gathering,
                                                  const HostLinks& links,
                                                  plan::Sequencer& sequencer, int device,
                                                  std::chrono::milliseconds timeout) {
  const int ranks = gathering.ranks();
  if (ranks > coll::gpu::kMostRanks) {
    throw Error(ncclInvalidUsage, "{} ranks on GPUs of one host; this version works for up to {}",
                ranks, coll::gpu::kMostRanks);
  }
  const CurrentDevice current(device);
  check(cudaFree(nullptr), "starting the device");
  coll::gpu::load_kernels();
  if (ranks == 1) {
    auto alone = std::make_shared<Team>();
    alone->devices = {device};
    return std::make_unique<plan::gpu::GpuExecutor>(sequencer, std::move(alone));
  }
  std::vector<int> devices = devices_of(links, gathering.rank());
  reach_devices_of_process(devices, device);
  Invitation invitation{};
  std::shared_ptr<Team> team;
  if (gathering.rank() == 0) {
    invitation.key = random_key();
    team = Teams::instance().find(invitation.key, [&] { return make_team(devices, UniqueFd()); });
    invitation.page = hostrt::publish_fd(team->page->fd(), team->page->bytes());
  }
  const hostrt::FdTicket published = invitation.page;
  invitation = gathering.gather_records(invitation).front();
  if (!team) {
    team = Teams::instance().find(
        invitation.key, [&] { return make_team(devices, fetch_page(invitation.page, timeout)); });
  }
  auto executor = std::make_unique<plan::gpu::GpuExecutor>(sequencer, team);
  gathering.barrier();
  if (gathering.rank() == 0) hostrt::withdraw_fd(published);
  return executor;
}

}  // namespace ripieno::connect

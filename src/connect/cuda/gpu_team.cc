// One exchange: rank 0 makes the page, every other process fetches it; the ranks of a process share
// one Team.
#include "connect/cuda/gpu_team.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#include "coll/cuda/launch.h"
#include "coll/cuda/one_shot.h"
#include "coll/cuda/work.h"
#include "device/cuda/driver.h"
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

/// CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which older toolkits do not name.
constexpr auto kMpsEnabled = static_cast<CUdevice_attribute>(133);

enum class Sharing : std::uint8_t { kAuto, kFused, kMps, kTimeslice };
constexpr EnumParameter<Sharing> kSharing("RIPIENO_SHARED_GPU");

/// What decides whether kernels of different ranks are sure to run at the same time. Trivially
/// copyable.
struct Residence {
  std::array<char, 16> gpu;  ///< The device's UUID.
  std::uint8_t served;       ///< By MPS.
  Sharing sharing;
};

Residence residence_of(int device) {
  Residence residence{};
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "reading the properties of a device");
  std::memcpy(residence.gpu.data(), properties.uuid.bytes, residence.gpu.size());
  int served = 0;
  device::cuda::driver().device_attribute(&served, kMpsEnabled, device);
  residence.served = static_cast<std::uint8_t>(served);
  residence.sharing = kSharing.value();
  return residence;
}

bool run_together(const std::vector<Residence>& ranks) {
  const Sharing sharing = ranks.front().sharing;
  if (sharing != Sharing::kAuto) return sharing == Sharing::kMps;
  std::set<std::array<char, 16>> gpus;
  for (const Residence& rank : ranks) gpus.insert(rank.gpu);
  return gpus.size() == ranks.size() ||
         std::ranges::all_of(ranks, [](const Residence& rank) { return rank.served != 0; });
}

/// Small collectives go in one shot where kernels of all ranks run at the same time.
void exchange_boxes(bootstrap::Gathering& gathering, plan::gpu::GpuExecutor& executor, int device) {
  const std::vector<Residence> residences = gathering.gather_records(residence_of(device));
  const bool together = run_together(residences);
  log_info(log_subsystem::kInit, "rank {}: ranks of several processes on GPUs, {}",
           gathering.rank(),
           together ? "whose kernels run at the same time: one shot for small operations"
                    : "which take turns: rank 0 computes");
  if (!together) return;
  coll::gpu::load_one_shot_kernels();
  std::array<std::uint64_t, coll::gpu::kMostRanks> offered{};
  std::ranges::copy(executor.offer_box(), offered.begin());
  std::vector<std::uint64_t> mine;
  for (const auto& addresses : gathering.gather_records(offered)) {
    mine.push_back(addresses[static_cast<std::size_t>(gathering.rank())]);
  }
  executor.use_boxes(mine);
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
  const device::cuda::RelaxedCapture relaxed;
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
  if (!team->meeting) exchange_boxes(gathering, *executor, device);
  gathering.barrier();
  if (gathering.rank() == 0) hostrt::withdraw_fd(published);
  return executor;
}

}  // namespace ripieno::connect

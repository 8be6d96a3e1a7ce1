// Connects the ranks of one host: each maps the control page and the device memory of the others.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.h"
#include "device/device.h"
#include "transport/host_team.h"

namespace ripieno::connect {

/// What every rank knows of every other once the communicator is up. Trivially copyable: it travels
/// as it is.
struct PeerInfo {
  std::uint64_t host_hash;
  std::uint64_t process_token;  ///< Random, one per process.
  std::int32_t process_id;
  std::int32_t device;
  std::int32_t version;
  std::uint64_t tuning;  ///< What the rank was told about choosing algorithms; equal on all ranks.
  std::array<char, 32> bus_id;  ///< Of the device.
  std::array<char, 64> host_name;
  device::MemoryTicket memory;
  hostrt::FdTicket control_page;  ///< Set by rank 0.
};

/// A process, other than this one, that holds ranks of the communicator.
struct PeerProcess {
  int process_id;  ///< As seen here; 0 if not visible.
  int link;        ///< Hangs up when it dies; owned by `memory`.
  std::shared_ptr<device::PeerMemory> memory;
  std::vector<int> ranks;
};

struct HostLinks {
  std::vector<PeerInfo> peers;
  std::vector<PeerProcess> processes;
  std::unique_ptr<transport::HostTeam> team;
};

/// Collective over all ranks of `gathering`. Throws Error.
[[nodiscard]] HostLinks connect_host(bootstrap::Gathering& gathering, int device,
                                     std::uint64_t tuning, std::chrono::milliseconds timeout);

}  // namespace ripieno::connect

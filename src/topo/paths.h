// All paths that matter to communication: GPU to GPU, GPU to network and back, with the verdict of
// the policy worked in. A pair that may not access each other's memory goes through host memory, a
// card that may not touch device memory gets its data through the CPU, and a card beside another
// GPU is reached through that GPU (PXN).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "topo/path_policy.h"
#include "topo/path_search.h"
#include "topo/system.h"

namespace ripieno::topo {

/// Yes or no, and why, for people.
struct Verdict {
  bool allowed = false;
  std::string reason{};
};

/// Indices are positions in System::gpus() and System::nets().
class PathTable {
 public:
  PathTable(const System& system, PathPolicy policy);

  [[nodiscard]] const System& system() const noexcept { return *system_; }
  [[nodiscard]] const PathPolicy& policy() const noexcept { return policy_; }
  [[nodiscard]] int gpu_count() const noexcept { return gpus_; }
  [[nodiscard]] int net_count() const noexcept { return nets_; }

  [[nodiscard]] const Path& gpu_to_gpu(int from, int to) const {
    return gpu_gpu_[index(from, gpus_, to)];
  }
  [[nodiscard]] const Path& gpu_to_net(int gpu, int net) const {
    return gpu_net_[index(gpu, nets_, net)];
  }
  [[nodiscard]] const Path& net_to_gpu(int net, int gpu) const {
    return net_gpu_[index(net, gpus_, gpu)];
  }
  /// GPU `from` reads and writes the memory of GPU `to`.
  [[nodiscard]] const Verdict& peer_access(int from, int to) const {
    return peer_[index(from, gpus_, to)];
  }
  /// The card accesses the GPU's memory.
  [[nodiscard]] const Verdict& direct_rdma(int gpu, int net) const {
    return rdma_[index(gpu, nets_, net)];
  }
  /// The card a GPU should use: the nearest, and where several are equally near, spread over the
  /// GPUs that share them. -1 if there is none.
  [[nodiscard]] int nearest_net(int gpu) const { return nearest_[static_cast<std::size_t>(gpu)]; }
  /// The GPU that stands beside a card and passes others' data on; -1 if there is none.
  [[nodiscard]] int forwarder_of(int net) const {
    return forwarder_[static_cast<std::size_t>(net)];
  }

 private:
  static std::size_t index(int row, int width, int column) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(column);
  }
  void route_gpus(const std::vector<std::vector<Path>>& from_gpu,
                  const std::vector<std::vector<Path>>& from_cpu);
  void route_nets(const std::vector<std::vector<Path>>& from_gpu,
                  const std::vector<std::vector<Path>>& from_net,
                  const std::vector<std::vector<Path>>& from_cpu);
  void route_around(const std::vector<std::vector<Path>>& from_gpu);
  void mark_slower_than_net();
  void choose_nearest();

  const System* system_;
  PathPolicy policy_;
  int gpus_ = 0;
  int nets_ = 0;
  std::vector<Path> gpu_gpu_;
  std::vector<Path> gpu_net_;
  std::vector<Path> net_gpu_;
  std::vector<Verdict> peer_;
  std::vector<Verdict> rdma_;
  std::vector<int> nearest_;
  std::vector<int> forwarder_;
};

}  // namespace ripieno::topo

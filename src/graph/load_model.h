// The machine as a search sees it: GPUs and network cards by position, the route of every hop, and
// what a hop takes from which link. A link is a resource per direction; network interfaces that are
// the same wire are one resource.
#pragma once

#include <vector>

#include "topo/paths.h"

namespace ripieno::graph {

/// A hop at 1 GB/s takes `weight` GB/s of the resource.
struct Use {
  int resource = 0;
  double weight = 1.0;
};

struct Route {
  topo::PathType type = topo::PathType::kDisconnected;
  std::vector<Use> uses{};
  /// Whether a channel may take it: connected, and not left to the network.
  [[nodiscard]] bool usable() const noexcept { return type < topo::PathType::kNetwork; }
};

class LoadModel {
 public:
  explicit LoadModel(const topo::PathTable& paths);

  [[nodiscard]] const topo::PathTable& paths() const noexcept { return *paths_; }
  [[nodiscard]] int gpus() const noexcept { return gpus_; }
  [[nodiscard]] int nets() const noexcept { return nets_; }
  [[nodiscard]] int resources() const noexcept { return static_cast<int>(capacity_.size()); }
  [[nodiscard]] double capacity(int resource) const {
    return capacity_[static_cast<std::size_t>(resource)];
  }
  [[nodiscard]] const Route& hop(int from, int to) const { return hops_[at(from, gpus_, to)]; }
  [[nodiscard]] const Route& enter(int net, int gpu) const { return enters_[at(net, gpus_, gpu)]; }
  [[nodiscard]] const Route& leave(int gpu, int net) const { return leaves_[at(gpu, nets_, net)]; }
  /// GPUs a card can reach, nearest first; where equally near, those that count it as theirs first.
  [[nodiscard]] const std::vector<int>& gpus_near(int net) const {
    return near_[static_cast<std::size_t>(net)];
  }
  /// The least compute capability of all GPUs.
  [[nodiscard]] int compute_capability() const noexcept { return capability_; }
  [[nodiscard]] int resource_of(topo::LinkId link) const {
    return resource_of_link_[static_cast<std::size_t>(link)];
  }
  /// The ends of a resource, for flows; those of its first link if it is a shared wire.
  [[nodiscard]] topo::NodeId from(int resource) const {
    return ends_[static_cast<std::size_t>(resource)].first;
  }
  [[nodiscard]] topo::NodeId to(int resource) const {
    return ends_[static_cast<std::size_t>(resource)].second;
  }

 private:
  static std::size_t at(int row, int width, int column) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(column);
  }
  void number_links();
  [[nodiscard]] Route route(const topo::Path& path, bool from_gpu) const;
  void order_near();

  const topo::PathTable* paths_;
  int gpus_ = 0;
  int nets_ = 0;
  int capability_ = 0;
  std::vector<int> resource_of_link_;
  std::vector<double> capacity_;
  std::vector<std::pair<topo::NodeId, topo::NodeId>> ends_;
  std::vector<Route> hops_;
  std::vector<Route> enters_;
  std::vector<Route> leaves_;
  std::vector<std::vector<int>> near_;
};

}  // namespace ripieno::graph

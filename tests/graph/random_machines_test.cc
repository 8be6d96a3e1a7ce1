// Machines that nobody built: random switches, meshes and cards. Whatever the search finds on them
// must be valid, within its bound, and the same twice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "graph/check.h"
#include "graph/search.h"
#include "topo/machines.h"

namespace ripieno::graph {
namespace {

using topo::PathTable;
using topo::System;

class RandomMachine {
 public:
  explicit RandomMachine(unsigned seed) : random_(seed) {}

  std::string text() {
    const int cpus = pick(1, 2);
    const char* vendor = pick(0, 1) == 0 ? "GenuineIntel" : "AuthenticAMD";
    gpus_ = pick(1, 8);
    capability_ = std::array{70, 80, 86, 90, 100}[static_cast<std::size_t>(pick(0, 4))];
    mesh_ = pick(0, 2);
    connect();
    std::string text = "<system version='1'>";
    int gpu = 0;
    int net = 0;
    for (int cpu = 0; cpu < cpus; ++cpu) {
      text +=
          fmt::format("<cpu numaid='{}' arch='x86_64' vendor='{}' familyid='6' modelid='{}'>", cpu,
                      vendor, std::array{79, 106, 143}[static_cast<std::size_t>(pick(0, 2))]);
      const int switches = pick(1, 2);
      const int last = cpu + 1 == cpus ? gpus_ : gpu + pick(0, gpus_ - gpu);
      for (int number = 0; number < switches; ++number) {
        text += fmt::format(
            "<pci busid='{:02x}:{:02x}.0' class='0x060400' link_speed='16.0 GT/s' "
            "link_width='16'>",
            0x80 + cpu, number);
        const int end = number + 1 == switches ? last : gpu + pick(0, last - gpu);
        for (; gpu < end; ++gpu) text += gpu_text(gpu);
        for (int cards = pick(0, 2); cards > 0; --cards) text += net_text(net++);
        text += "</pci>";
      }
      text += "</cpu>";
    }
    return text + "</system>";
  }

 private:
  int pick(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }

  void connect() {
    links_.assign(static_cast<std::size_t>(gpus_),
                  std::vector<int>(static_cast<std::size_t>(gpus_), 0));
    if (mesh_ != 1) return;
    for (std::size_t one = 0; one < links_.size(); ++one) {
      for (std::size_t other = one + 1; other < links_.size(); ++other) {
        links_[one][other] = links_[other][one] = pick(0, 2);
      }
    }
  }

  std::string gpu_text(int gpu) {
    std::string text = fmt::format(
        "<pci busid='{:02x}:00.0' class='0x030200' "
        "link_speed='16.0 GT/s' link_width='{}'><gpu dev='{}' sm='{}' "
        "rank='{}' gdr='1'>",
        gpu + 1, pick(0, 1) == 0 ? 8 : 16, gpu, capability_, gpu);
    if (mesh_ == 2) text += "<nvlink target='fffffff:ffff:ff' count='6' tclass='0x068000'/>";
    for (int other = 0; other < gpus_; ++other) {
      const int count = links_[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(other)];
      if (count == 0) continue;
      text += fmt::format("<nvlink target='{:02x}:00.0' count='{}' tclass='0x030200'/>", other + 1,
                          count);
    }
    return text + "</gpu></pci>";
  }

  std::string net_text(int net) {
    return fmt::format(
        "<pci busid='{:02x}:00.0' class='0x020700' link_speed='16.0 GT/s' "
        "link_width='16'><nic><net name='n{}' dev='{}' speed='{}' port='1' "
        "guid='{}' gdr='{}'/></nic></pci>",
        0x40 + net, net, net, pick(0, 1) == 0 ? 100'000 : 200'000, pick(1, 3), pick(0, 1));
  }

  std::mt19937 random_;
  int gpus_ = 1;
  int capability_ = 70;
  int mesh_ = 0;
  std::vector<std::vector<int>> links_;
};

TEST(RandomMachines, GraphsAreValidAndRepeatable) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const std::string text = RandomMachine(seed).text();
    SCOPED_TRACE(text);
    const System system = topo::testing::system_of(text);
    const PathTable paths(system, {});
    for (const Scope scope : {Scope::kIntra, Scope::kInter}) {
      const GraphSet set = search_graphs(paths, {.scope = scope});
      const GraphSet again = search_graphs(paths, {.scope = scope});
      const auto graphs = graphs_of(set);
      const auto repeated = graphs_of(again);
      ASSERT_EQ(graphs.size(), repeated.size());
      for (std::size_t index = 0; index < graphs.size(); ++index) {
        testing::expect_valid(paths, *graphs[index], fmt::format("seed {}", seed));
        ASSERT_EQ(graphs[index]->channels.size(), repeated[index]->channels.size());
        for (std::size_t channel = 0; channel < graphs[index]->channels.size(); ++channel) {
          EXPECT_EQ(graphs[index]->channels[channel].gpus, repeated[index]->channels[channel].gpus);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ripieno::graph

// Paths and verdicts: every machine's matrix is pinned, and the variables move what they should.
#include "topo/paths.h"

#include <gtest/gtest.h>

#include "topo/describe.h"
#include "topo/machines.h"

namespace ripieno::topo {
namespace {

PathTable table_of(const System& system, PathPolicy policy = {}) {
  return PathTable(system, std::move(policy));
}

TEST(Paths, EveryMachineIsPinned) {
  std::vector<std::string> names = testing::machine_names();
  names.emplace_back("gb200-tray*2");
  for (const std::string& name : names) {
    const System system = testing::load_machine(name);
    const std::string now = draw_paths(table_of(system));
    std::string file = name;
    std::replace(file.begin(), file.end(), '*', 'x');
    EXPECT_EQ(testing::pinned(std::string(RIPIENO_TEST_PINS) + "/" + file + ".paths", now), now)
        << name;
  }
}

TEST(Paths, BothDirectionsBetweenGpusAreAlike) {
  for (const std::string& name : testing::machine_names()) {
    const System system = testing::load_machine(name);
    const PathTable paths = table_of(system);
    for (int one = 0; one < paths.gpu_count(); ++one) {
      for (int other = 0; other < paths.gpu_count(); ++other) {
        EXPECT_EQ(paths.gpu_to_gpu(one, other).type, paths.gpu_to_gpu(other, one).type) << name;
        EXPECT_DOUBLE_EQ(paths.gpu_to_gpu(one, other).gbps, paths.gpu_to_gpu(other, one).gbps);
      }
    }
  }
}

TEST(Paths, EveryPathIsAWalkOverItsLinks) {
  for (const std::string& name : testing::machine_names()) {
    const System system = testing::load_machine(name);
    const PathTable paths = table_of(system);
    for (int gpu = 0; gpu < paths.gpu_count(); ++gpu) {
      for (int net = 0; net < paths.net_count(); ++net) {
        const Path& path = paths.gpu_to_net(gpu, net);
        NodeId at = system.gpus()[static_cast<std::size_t>(gpu)];
        double least = kLocalGbps;
        for (const LinkId id : path.links) {
          ASSERT_EQ(system.link(id).from, at) << name;
          at = system.link(id).to;
          least = std::min(least, system.link(id).gbps);
        }
        EXPECT_EQ(at, system.nets()[static_cast<std::size_t>(net)]) << name;
        EXPECT_DOUBLE_EQ(path.gbps, least) << name;
      }
    }
  }
}

TEST(Paths, PeerLevelDecidesWhoAccessesWhom) {
  const System system = testing::load_machine("pcie-8gpu-switch");
  const PathTable standard = table_of(system);
  EXPECT_TRUE(standard.peer_access(0, 1).allowed);
  EXPECT_FALSE(standard.peer_access(0, 2).allowed);
  EXPECT_NE(standard.peer_access(0, 2).reason.find("PHB"), std::string::npos);
  const PathTable far = table_of(system, {.peer_level = PathType::kSystem});
  EXPECT_TRUE(far.peer_access(0, 7).allowed);
  EXPECT_EQ(far.gpu_to_gpu(0, 4).type, PathType::kSystem);  // NET no longer pays.
  const PathTable none =
      table_of(system, {.peer_level = PathType::kLocal, .peer_source = "NCCL_P2P_DISABLE"});
  EXPECT_EQ(none.peer_access(0, 1).reason, "NCCL_P2P_DISABLE is set");
  EXPECT_EQ(none.gpu_to_gpu(0, 1).type, PathType::kHostBridge);
}

TEST(Paths, TwoGpusOnAmdAreNearEnough) {
  const System system = testing::system_of(
      "<system><cpu numaid='0' arch='x86_64' vendor='AuthenticAMD'>"
      "<pci busid='1:0.0'><gpu dev='0' sm='86'/></pci><pci busid='2:0.0'><gpu dev='1' sm='86'/>"
      "</pci></cpu></system>");
  EXPECT_TRUE(table_of(system).peer_access(0, 1).allowed);
}

TEST(Paths, WithoutNvlinkBridgeAndNetworkTheMeshGoesBetweenCpus) {
  const System system = testing::load_machine("dgx1v");
  EXPECT_EQ(table_of(system).gpu_to_gpu(0, 7).type, PathType::kNvlinkBridge);
  const PathTable plain = table_of(system, {.network_inside_host = false, .nvlink_bridge = false});
  EXPECT_EQ(plain.gpu_to_gpu(0, 7).type, PathType::kSystem);
}

TEST(Paths, WithoutPxnFarCardsAreReachedThroughTheCpu) {
  const System system = testing::load_machine("dgx-h100");
  EXPECT_EQ(table_of(system).gpu_to_net(0, 1).type, PathType::kPxn);
  EXPECT_EQ(table_of(system, {.pxn = false}).gpu_to_net(0, 1).type, PathType::kHostBridge);
}

TEST(Paths, RdmaLevelAndCapabilityDecideAboutDirectAccess) {
  const System system = testing::load_machine("dgx-h100");
  const PathTable standard = table_of(system);
  EXPECT_TRUE(standard.direct_rdma(0, 0).allowed);
  EXPECT_FALSE(standard.direct_rdma(0, 1).allowed);
  const PathTable far = table_of(system, {.rdma_level = PathType::kSystem, .pxn = false});
  EXPECT_TRUE(far.direct_rdma(0, 7).allowed);
  const System cloud = testing::load_machine("aws-g5-48xl");
  EXPECT_NE(table_of(cloud).direct_rdma(4, 0).reason.find("gdr=0"), std::string::npos);
}

TEST(Paths, ACardThatMayNotTouchDeviceMemoryIsReachedThroughTheCpu) {
  Document document = load_document(testing::machine_file("dgx-h100"));
  const auto forbid = [](auto&& self, Element& element) -> void {
    if (element.name == "net") element.set("gdr", "0");
    for (Element& child : element.children) self(self, child);
  };
  forbid(forbid, document.root);
  const System system = read_system(document);
  EXPECT_EQ(table_of(system).gpu_to_net(0, 0).type, PathType::kHostBridge);
}

TEST(Paths, RanksOfOneDeviceAreLocal) {
  const System system = testing::system_of(
      "<system><cpu numaid='0'><pci busid='1:0.0'><gpu dev='0' rank='0'/><gpu dev='1' rank='1'/>"
      "</pci></cpu></system>");
  EXPECT_EQ(table_of(system).gpu_to_gpu(0, 1).type, PathType::kLocal);
  EXPECT_TRUE(table_of(system).peer_access(0, 1).allowed);
}

TEST(Paths, TraysOfADomainAreJoinedByNvlinkAlone) {
  const System system = testing::load_machine("gb200-tray*2");
  const PathTable paths = table_of(system);
  EXPECT_EQ(paths.gpu_to_gpu(0, 7).type, PathType::kNvlink);
  EXPECT_FALSE(paths.gpu_to_net(0, 7).exists());
}

TEST(Paths, TypesHaveNames) {
  for (int type = 0; type < kPathTypeCount; ++type) {
    const auto path = static_cast<PathType>(type);
    EXPECT_EQ(parse_path_type(path_name(path)), path);
  }
  EXPECT_EQ(parse_path_type("pxb"), PathType::kPciSwitches);
  EXPECT_EQ(parse_path_type("5"), PathType::kSystem);
  EXPECT_EQ(parse_path_type("near"), std::nullopt);
  EXPECT_EQ(parse_path_type(""), std::nullopt);
}

}  // namespace
}  // namespace ripieno::topo

// Detection on file trees made for the purpose, and on the machine of the test.
#include "topo/pci_scan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "topo/detect.h"
#include "topo/paths.h"
#include "topo/read_system.h"

namespace ripieno::topo {
namespace {

namespace fs = std::filesystem;

/// A folder that stands for "/".
class FakeRoot : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            ("ripieno-root-" + std::to_string(::getpid()) + "-" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const fs::path file = root_.string() + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  /// A PCI function below others, with the links that the kernel makes.
  void add_function(const std::string& above, const std::string& bus_id, const std::string& kind,
                    int numa) {
    const std::string folder = "/sys/devices/pci0000:00/" + above + bus_id;
    write(folder + "/class", kind);
    write(folder + "/numa_node", std::to_string(numa));
    write(folder + "/max_link_speed", "16.0 GT/s PCIe");
    write(folder + "/max_link_width", "16");
    fs::create_directories(root_ / "sys/bus/pci/devices");
    fs::create_symlink(root_.string() + folder, root_ / "sys/bus/pci/devices" / bus_id);
  }

  fs::path root_;
};

TEST_F(FakeRoot, NothingAtAllIsOneCpu) {
  const Document document = detect({.ask_nvml = false, .root = root_});
  EXPECT_EQ(read_system(document).cpus().size(), 1U);
}

TEST_F(FakeRoot, PortsOfASwitchAreOneSwitch) {
  write("/sys/devices/system/node/node0/cpumap", "0f");
  write("/sys/devices/system/node/node1/cpumap", "f0");
  write("/proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143");
  const std::string port = "0000:00:01.0/";
  const std::string upstream = port + "0000:10:00.0/";
  add_function("", "0000:00:01.0", "0x060400", 1);
  add_function(port, "0000:10:00.0", "0x060400", 1);
  add_function(upstream, "0000:11:00.0", "0x060400", 1);
  add_function(upstream, "0000:11:01.0", "0x060400", 1);
  add_function(upstream + "0000:11:00.0/", "0000:12:00.0", "0x030200", 1);
  add_function(upstream + "0000:11:01.0/", "0000:13:00.0", "0x020700", 1);
  write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  write("/sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
  write("/sys/class/infiniband/mlx5_0/node_guid", "0000:0000:0000:002a");
  fs::create_symlink(
      root_.string() + "/sys/devices/pci0000:00/" + upstream + "0000:11:01.0/0000:13:00.0",
      root_ / "sys/class/infiniband/mlx5_0/device");
  const Document document = detect(
      {.devices =
           {{.device = 0, .bus_id = "0000:12:00.0", .compute_capability = 80, .direct_rdma = true}},
       .nets = local_nets(root_),
       .ask_nvml = false,
       .root = root_});
  const System system = read_system(document);
  ASSERT_EQ(system.gpus().size(), 1U);
  ASSERT_EQ(system.nets().size(), 1U);
  EXPECT_EQ(system.node(system.nets()[0]).net.guid, 0x2aU);
  EXPECT_EQ(system.node(system.cpu_of(system.gpus()[0])).cpu.numa, 1);
  const PathTable paths(system, {});
  EXPECT_EQ(paths.gpu_to_net(0, 0).type, PathType::kPciSwitch);
  EXPECT_DOUBLE_EQ(paths.gpu_to_net(0, 0).gbps, 24.0);
}

TEST_F(FakeRoot, VirtualDevicesAreSpreadOverTheNodes) {
  write("/sys/devices/system/node/node0/cpumap", "0f");
  write("/sys/devices/system/node/node1/cpumap", "f0");
  std::vector<LocalDevice> devices;
  for (int device = 0; device < 4; ++device) {
    devices.push_back({.device = device,
                       .bus_id = "7269:0" + std::to_string(device) + ":00.0",
                       .is_virtual = true});
  }
  const System system = read_system(detect({.devices = devices, .ask_nvml = false, .root = root_}));
  ASSERT_EQ(system.gpus().size(), 4U);
  EXPECT_EQ(system.node(system.cpu_of(system.gpus()[1])).cpu.numa, 0);
  EXPECT_EQ(system.node(system.cpu_of(system.gpus()[2])).cpu.numa, 1);
}

TEST(Detect, ThisMachineIsReadWhateverItIs) {
  const System system =
      read_system(detect({.devices = nvml_devices(), .nets = local_nets(), .ask_nvml = true}));
  EXPECT_GE(system.cpus().size(), 1U);
}

}  // namespace
}  // namespace ripieno::topo

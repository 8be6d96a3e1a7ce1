#include "topo/detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#include "topo/merge.h"
#include "topo/nvml.h"
#include "topo/pci_scan.h"
#include "topo/read_system.h"

namespace ripieno::topo {
namespace {

constexpr StringParameter kTopoFile{"NCCL_TOPO_FILE"};
constexpr StringParameter kTopoDumpFile{"NCCL_TOPO_DUMP_FILE"};
constexpr IntParameter kTopoDumpFileRank{"NCCL_TOPO_DUMP_FILE_RANK"};

double number_or(std::string_view text, double fallback) {
  double number = fallback;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class Detector {
 public:
  explicit Detector(const DetectionRequest& request) : request_(request), scan_(request.root) {
    system_.set("version", "1");
    system_.children = scan_.cpus();
    cpus_ = system_.children.size();
    if (request.ask_nvml) known_ = nvml_gpus();
  }

  Document detect() {
    for (const LocalDevice& device : request_.devices) {
      device.is_virtual ? add_virtual(device) : add_device(device);
    }
    for (const LocalNet& net : request_.nets) add_net(net);
    return {.root = std::move(system_), .source = "detected"};
  }

 private:
  static void describe_gpu(Element& gpu, const LocalDevice& device) {
    gpu.set("dev", std::to_string(device.device));
    gpu.set("sm", std::to_string(device.compute_capability));
    gpu.set("gdr", device.direct_rdma ? "1" : "0");
  }

  void add_device(const LocalDevice& device) {
    Element& function = scan_.add_function(system_, canonical_bus_id(device.bus_id));
    if (function.get("class").empty()) function.set("class", "0x030200");
    Element& gpu = function.add("gpu");
    describe_gpu(gpu, device);
    for (const NvmlGpu& known : known_) {
      if (known.bus_id != canonical_bus_id(device.bus_id)) continue;
      if (device.compute_capability == 0) gpu.set("sm", std::to_string(known.compute_capability));
      for (const NvmlLink& link : known.links) {
        Element& child = gpu.add("nvlink");
        child.set("target", link.target);
        child.set("count", std::to_string(link.count));
        child.set("tclass", link.kind);
      }
      if (known.c2c_links > 0) {
        Element& child = gpu.add("c2c");
        child.set("bw", std::to_string(known.c2c_mbps));
        child.set("count", std::to_string(known.c2c_links));
      }
    }
  }

  void add_virtual(const LocalDevice& device) {
    // Neighbouring devices share a NUMA node, and every node gets as many as the next.
    const auto index = static_cast<std::size_t>(std::max(device.device, 0));
    const std::size_t count = std::max(request_.devices.size(), std::size_t{1});
    Element& cpu = system_.children[index * cpus_ / count % cpus_];
    Element& function = cpu.add("pci");
    function.set("busid", canonical_bus_id(device.bus_id));
    function.set("class", "0x030200");
    function.set("link_speed", "32.0 GT/s PCIe");
    function.set("link_width", "16");
    describe_gpu(function.add("gpu"), device);
  }

  void add_net(const LocalNet& net) {
    const std::string bus_id =
        net.sysfs_entry.empty() ? std::string() : scan_.bus_id_behind(net.sysfs_entry);
    Element& parent =
        bus_id.empty() ? system_.children.front() : scan_.add_function(system_, bus_id);
    Element* nic = nullptr;
    if (!bus_id.empty()) {
      for (Element& child : parent.children) {
        if (child.name == "nic") nic = &child;
      }
    }
    if (nic == nullptr) nic = &parent.add("nic");
    Element& element = nic->add("net");
    element.set("name", net.name);
    element.set("dev", std::to_string(net.device));
    element.set("speed", fmt::format("{:.0f}", net.speed_mbps));
    element.set("port", std::to_string(net.port));
    element.set("latency", fmt::format("{:g}", net.latency_us));
    element.set("guid", fmt::format("0x{:x}", net.guid));
    element.set("maxconn", std::to_string(net.max_connections));
    element.set("gdr", net.direct_rdma ? "1" : "0");
    if (net.reduces) element.set("coll", "1");
  }

  const DetectionRequest& request_;
  PciScan scan_;
  Element system_{.name = "system"};
  std::size_t cpus_ = 0;
  std::vector<NvmlGpu> known_;
};

std::uint64_t guid_of(std::string text) {
  std::erase(text, ':');
  std::uint64_t guid = 0;
  std::from_chars(text.data(), text.data() + text.size(), guid, 16);
  return guid;
}

}  // namespace

Document detect(const DetectionRequest& request) {
  return Detector(request).detect();
}

std::vector<LocalNet> local_nets(const std::string& root) {
  const PciScan scan(root);
  std::vector<LocalNet> nets;
  const auto next = [&] { return static_cast<int>(nets.size()); };
  const std::string cards = "/sys/class/infiniband/";
  for (const std::string& card : scan.names_in(cards)) {
    for (const std::string& port : scan.names_in(cards + card + "/ports")) {
      const std::string folder = fmt::format("{}{}/ports/{}/", cards, card, port);
      if (scan.read_line(folder + "state").find("ACTIVE") == std::string::npos) continue;
      nets.push_back({.device = next(),
                      .name = card,
                      .sysfs_entry = cards + card + "/device",
                      .speed_mbps = 1000.0 * number_or(scan.read_line(folder + "rate"), 0.0),
                      .port = static_cast<int>(number_or(port, 1.0)),
                      .guid = guid_of(scan.read_line(cards + card + "/node_guid")),
                      .direct_rdma = true});
    }
  }
  if (!nets.empty()) return nets;
  const std::string interfaces = "/sys/class/net/";
  for (const std::string& name : scan.names_in(interfaces)) {
    const std::string folder = interfaces + name + "/";
    const std::string state = scan.read_line(folder + "operstate");
    if (name == "lo" || (state != "up" && state != "unknown")) continue;
    nets.push_back({.device = next(),
                    .name = name,
                    .sysfs_entry = folder + "device",
                    .speed_mbps = number_or(scan.read_line(folder + "speed"), 0.0)});
    if (nets.back().speed_mbps <= 0.0) nets.back().speed_mbps = 10'000.0;
  }
  return nets;
}

std::vector<LocalDevice> nvml_devices() {
  std::vector<LocalDevice> devices;
  for (const NvmlGpu& gpu : nvml_gpus()) {
    devices.push_back({.device = static_cast<int>(devices.size()),
                       .bus_id = gpu.bus_id,
                       .compute_capability = gpu.compute_capability,
                       .direct_rdma = true});
  }
  return devices;
}

Machine local_machine(const DetectionRequest& request,
                      const std::map<std::string, int>& rank_of_bus_id, int rank) {
  Document document = detect(request);
  if (kTopoFile.is_set()) {
    try {
      Document merged = merge_documents(load_document(kTopoFile.value()), document);
      (void)read_system(merged);
      document = std::move(merged);
    } catch (const Error& error) {
      log_warn(log_subsystem::kGraph, "NCCL_TOPO_FILE='{}' (set by {}) is not used: {}",
               kTopoFile.value(), kTopoFile.source(), error.what());
    }
  }
  if (!rank_of_bus_id.empty()) assign_ranks(document.root, rank_of_bus_id);
  if (kTopoDumpFile.is_set() && kTopoDumpFileRank.value() == rank) {
    dump_document(document.root, kTopoDumpFile.value(), "NCCL_TOPO_DUMP_FILE");
  }
  System system = read_system(document);
  return {.document = std::move(document), .system = std::move(system)};
}

}  // namespace ripieno::topo

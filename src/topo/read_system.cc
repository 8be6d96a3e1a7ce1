#include "topo/read_system.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"

namespace ripieno::topo {
namespace {

constexpr std::string_view kGpuClass = "0x0302";
constexpr std::string_view kDisplayClass = "0x0300";
constexpr std::string_view kBridgeClass = "0x0604";
constexpr std::string_view kNetworkClass = "0x02";
constexpr std::string_view kNvSwitchClass = "0x0680";

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  int base = 10;
  bool negative = false;
  if (!text.empty() && text.front() == '-' && std::is_signed_v<Number>) {
    negative = true;
    text.remove_prefix(1);
  }
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return negative ? static_cast<Number>(Number{0} - number) : number;
}

/// Two switches that are one piece of silicon: Broadcom's Gen4 and Gen5 switches show themselves as
/// two levels.
bool is_split_switch(const Element& outer, const Element& inner) {
  const std::string_view device = outer.get("device");
  return outer.get("vendor") == "0x1000" && (device == "0xc010" || device == "0xc030") &&
         inner.get("vendor") == "0x1000" && inner.get("device") == device;
}

class Reader {
 public:
  explicit Reader(const Document& document) : document_(document) {}

  Reading read() {
    const Element& root = document_.root;
    if (root.name != "system") {
      error(root,
            fmt::format("the root element is <{}>; a topology begins with <system>", root.name));
      return std::move(reading_);
    }
    const std::string_view version = root.get("version", "1");
    if (version != "1") warn(root, fmt::format("version '{}' is not known; read as 1", version));
    for (const Element* cpu : sorted_cpus()) add_cpu(*cpu);
    join_cpus();
    join_nvlinks();
    group_ports();
    settle_ranks();
    return std::move(reading_);
  }

 private:
  struct NvlinkEnd {
    NodeId device;
    const Element* element;
  };

  void error(const Element& at, std::string text) {
    reading_.findings.push_back({Finding::Severity::kError, at.line, std::move(text)});
  }
  void warn(const Element& at, std::string text) {
    reading_.findings.push_back({Finding::Severity::kWarning, at.line, std::move(text)});
  }

  /// A whole number, or the fallback and a finding.
  int integer(const Element& element, std::string_view name, int fallback) {
    const std::string* text = element.find(name);
    if (text == nullptr || text->empty()) return fallback;
    if (const auto number = whole_number<int>(*text)) return *number;
    error(element, fmt::format("<{}> {}=\"{}\" is not a whole number", element.name, name,
                               text->substr(0, 40)));
    return fallback;
  }
  double real(const Element& element, std::string_view name, double fallback) {
    const std::string* text = element.find(name);
    if (text == nullptr || text->empty()) return fallback;
    double number = 0.0;
    const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (fault == std::errc{} && end == text->data() + text->size() && std::isfinite(number)) {
      return number;
    }
    error(element,
          fmt::format("<{}> {}=\"{}\" is not a number", element.name, name, text->substr(0, 40)));
    return fallback;
  }

  static int host_key(const std::vector<std::string_view>& hashes, std::string_view hash) {
    return static_cast<int>(std::find(hashes.begin(), hashes.end(), hash) - hashes.begin());
  }

  std::vector<const Element*> sorted_cpus() {
    std::vector<const Element*> cpus;
    for (const Element& child : document_.root.children) {
      if (child.name != "cpu") {
        warn(child, fmt::format("<{}> is not expected in <system>; ignored", child.name));
        continue;
      }
      const std::string_view hash = child.get("host_hash");
      if (std::find(hosts_.begin(), hosts_.end(), hash) == hosts_.end()) hosts_.push_back(hash);
      cpus.push_back(&child);
    }
    std::stable_sort(cpus.begin(), cpus.end(), [&](const Element* one, const Element* other) {
      const auto key = [&](const Element& cpu) {
        return std::tuple(host_key(hosts_, cpu.get("host_hash")),
                          whole_number<int>(cpu.get("numaid")).value_or(0));
      };
      return key(*one) < key(*other);
    });
    if (cpus.empty()) warn(document_.root, "there is no <cpu>");
    return cpus;
  }

  void add_cpu(const Element& element) {
    Node node{.kind = NodeKind::kCpu, .host = host_key(hosts_, element.get("host_hash"))};
    if (element.find("numaid") == nullptr) warn(element, "<cpu> has no numaid; 0 is assumed");
    node.cpu.numa = integer(element, "numaid", 0);
    node.cpu.affinity = element.get("affinity");
    const std::string_view arch = element.get("arch");
    node.cpu.arch = arch == "x86_64"  ? CpuArch::kX86
                    : arch == "arm64" ? CpuArch::kArm
                    : arch == "ppc64" ? CpuArch::kPower
                                      : CpuArch::kUnknown;
    if (!arch.empty() && node.cpu.arch == CpuArch::kUnknown) {
      warn(element, fmt::format("<cpu> arch=\"{}\" is not known", arch.substr(0, 40)));
    }
    const std::string_view vendor = element.get("vendor");
    node.cpu.vendor = vendor == "GenuineIntel"   ? CpuVendor::kIntel
                      : vendor == "AuthenticAMD" ? CpuVendor::kAmd
                      : vendor == "CentaurHauls" ? CpuVendor::kZhaoxin
                      : vendor == "  Shanghai  " ? CpuVendor::kZhaoxin
                                                 : CpuVendor::kUnknown;
    node.cpu.family = integer(element, "familyid", 0);
    node.cpu.model = integer(element, "modelid", 0);
    host_ = node.host;
    if (!numas_.insert({node.host, node.cpu.numa}).second) {
      error(element, fmt::format("a second <cpu numaid=\"{}\"> of the same host", node.cpu.numa));
      return;
    }
    const NodeId cpu = reading_.system.add_node(std::move(node));
    add_children(element, cpu);
  }

  /// Children of a CPU or a switch, PCI functions in the order of their bus ids.
  void add_children(const Element& parent, NodeId at) {
    std::vector<std::pair<std::string, const Element*>> order;
    for (const Element& child : parent.children) {
      if (child.name == "pci") {
        order.emplace_back(canonical_bus_id(child.get("busid")), &child);
      } else if (child.name == "nic") {
        order.emplace_back("~", &child);
      } else if (child.name != "gpu" && child.name != "pcilink") {
        warn(child, fmt::format("<{}> is not expected in <{}>; ignored", child.name, parent.name));
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
    for (const auto& [bus_id, child] : order) {
      if (child->name == "nic") {
        add_nic(*child, at, {}, LinkKind::kPci, kLocalGbps);
      } else {
        add_pci(*child, parent, bus_id, at);
      }
    }
  }

  static bool has_child(const Element& element, std::string_view name) {
    return std::any_of(element.children.begin(), element.children.end(),
                       [&](const Element& child) { return child.name == name; });
  }

  void add_pci(const Element& element, const Element& parent, const std::string& bus_id,
               NodeId at) {
    if (bus_id.empty()) {
      error(element, element.find("busid") == nullptr
                         ? std::string("<pci> has no busid")
                         : fmt::format("<pci> busid=\"{}\" is not a bus id like 0000:1a:00.0",
                                       element.get("busid").substr(0, 40)));
      return;
    }
    if (!bus_ids_.insert({host_, bus_id}).second) {
      error(element, fmt::format("a second <pci busid=\"{}\">", bus_id));
      return;
    }
    const double gbps = link_speed(element);
    const std::string_view kind = element.get("class");
    if (has_child(element, "gpu")) {
      add_device(element, bus_id, at, gbps);
    } else if (has_child(element, "nic")) {
      for (const Element& child : element.children) {
        if (child.name == "nic") add_nic(child, at, bus_id, LinkKind::kPci, gbps);
      }
    } else if (has_child(element, "pci") || kind.starts_with(kBridgeClass)) {
      if (parent.name == "pci" && is_split_switch(parent, element)) {
        add_children(element, at);
        return;
      }
      Node node{.kind = NodeKind::kPciSwitch, .host = host_, .bus_id = bus_id, .parent = at};
      const NodeId id = reading_.system.add_node(std::move(node));
      reading_.system.connect(id, at, LinkKind::kPci, gbps);
      add_children(element, id);
    } else if (kind.starts_with(kGpuClass) || kind.starts_with(kDisplayClass)) {
      warn(element,
           fmt::format("GPU {} has no <gpu> element: it is used only if it is detected", bus_id));
    } else if (kind.starts_with(kNetworkClass)) {
      warn(element, fmt::format("network card {} has no <nic> element: it is used only if it is "
                                "detected",
                                bus_id));
    } else if (!kind.starts_with(kNvSwitchClass)) {
      warn(element, fmt::format("<pci busid=\"{}\"> has class \"{}\", which plays no part", bus_id,
                                kind.substr(0, 40)));
    }
  }

  double link_speed(const Element& element) {
    const int lanes = integer(element, "link_width", 0);
    if (lanes < 0 || lanes > 64) {
      error(element, fmt::format("link_width=\"{}\" is not a number of lanes", lanes));
      return pci_gbps({}, 16);
    }
    return pci_gbps(element.get("link_speed"), lanes);
  }

  void add_device(const Element& element, const std::string& bus_id, NodeId at, double gbps) {
    System& system = reading_.system;
    const NodeId device =
        system.add_node({.kind = NodeKind::kDevice, .host = host_, .bus_id = bus_id, .parent = at});
    system.connect(device, at, LinkKind::kPci, gbps);
    devices_[{host_, bus_id}] = device;
    bool first = true;
    for (const Element& child : element.children) {
      if (child.name != "gpu") {
        warn(child, fmt::format("<{}> is not expected beside <gpu>; ignored", child.name));
        continue;
      }
      add_gpu(child, device, bus_id, first);
      first = false;
    }
  }

  void add_gpu(const Element& element, NodeId device, const std::string& bus_id, bool first) {
    System& system = reading_.system;
    Node node{.kind = NodeKind::kGpu, .host = host_, .bus_id = bus_id, .parent = device};
    if (element.find("dev") == nullptr) error(element, "<gpu> has no dev");
    node.gpu.device = integer(element, "dev", 0);
    node.gpu.rank = integer(element, "rank", -1);
    node.gpu.compute_capability = integer(element, "sm", 0);
    node.gpu.direct_rdma = integer(element, "gdr", 0) != 0;
    if (node.gpu.compute_capability < 0 || node.gpu.compute_capability > 1000) {
      error(element, fmt::format("sm=\"{}\" is not a compute capability", element.get("sm")));
      node.gpu.compute_capability = 0;
    }
    const NodeId gpu = system.add_node(std::move(node));
    system.connect(gpu, device, LinkKind::kLocal, kLocalGbps);
    gpu_elements_.emplace_back(gpu, &element);
    // Ranks that share a device repeat its links.
    if (!first) return;
    for (const Element& child : element.children) {
      if (child.name == "nvlink") {
        nvlinks_.push_back({device, &child});
      } else if (child.name == "c2c") {
        const double gbps = std::clamp(real(child, "bw", 0.0), 0.0, 1e9) / 1000.0;
        const int count = std::clamp(integer(child, "count", 1), 0, 1024);
        const NodeId cpu = system.cpu_of(device);
        if (gbps > 0.0 && count > 0) system.connect(device, cpu, LinkKind::kC2c, gbps * count);
      } else {
        warn(child, fmt::format("<{}> is not expected in <gpu>; ignored", child.name));
      }
    }
  }

  void add_nic(const Element& element, NodeId at, const std::string& bus_id, LinkKind kind,
               double gbps) {
    System& system = reading_.system;
    const NodeId nic =
        system.add_node({.kind = NodeKind::kNic, .host = host_, .bus_id = bus_id, .parent = at});
    system.connect(nic, at, kind, gbps);
    std::vector<std::pair<int, const Element*>> order;
    for (const Element& child : element.children) {
      if (child.name == "net") {
        order.emplace_back(whole_number<int>(child.get("dev")).value_or(0), &child);
      } else {
        warn(child, fmt::format("<{}> is not expected in <nic>; ignored", child.name));
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
    for (const auto& entry : order) add_net(*entry.second, nic, bus_id);
  }

  void add_net(const Element& element, NodeId nic, const std::string& bus_id) {
    Node node{.kind = NodeKind::kNet, .host = host_, .bus_id = bus_id, .parent = nic};
    NetInfo& net = node.net;
    if (element.find("dev") == nullptr) error(element, "<net> has no dev");
    net.device = integer(element, "dev", 0);
    net.name = element.get("name", "net");
    net.speed_mbps = real(element, "speed", 0.0);
    if (net.speed_mbps < 0.0 || net.speed_mbps > 1e9) {
      error(element, fmt::format("speed=\"{}\" is not a speed in Mbit/s",
                                 element.get("speed").substr(0, 40)));
      net.speed_mbps = 0.0;
    }
    net.port = integer(element, "port", 0);
    net.latency_us = real(element, "latency", 0.0);
    net.max_connections = integer(element, "maxconn", 0);
    net.direct_rdma = integer(element, "gdr", 0) != 0;
    net.reduces = integer(element, "coll", 0) != 0;
    const std::string_view guid = element.get("guid", "0");
    if (const auto number = whole_number<std::uint64_t>(guid)) {
      net.guid = *number;
    } else {
      error(element, fmt::format("guid=\"{}\" is not a number", guid.substr(0, 40)));
    }
    if (!net_devices_.insert({host_, net.device}).second) {
      error(element, fmt::format("a second <net dev=\"{}\"> of the same host", net.device));
      return;
    }
    const double gbps = net_gbps(net.speed_mbps);
    const NodeId id = reading_.system.add_node(std::move(node));
    reading_.system.connect(id, nic, LinkKind::kNet, gbps);
  }

  void join_cpus() {
    System& system = reading_.system;
    const std::vector<NodeId> cpus(system.cpus().begin(), system.cpus().end());
    for (std::size_t one = 0; one < cpus.size(); ++one) {
      for (std::size_t other = one + 1; other < cpus.size(); ++other) {
        if (system.node(cpus[one]).host != system.node(cpus[other]).host) continue;
        const CpuInfo& cpu = system.node(cpus[one]).cpu;
        system.connect(cpus[one], cpus[other], LinkKind::kSystem,
                       cpu_gbps(cpu.arch, cpu.vendor, cpu.family, cpu.model));
      }
    }
  }

  int capability_of(NodeId device) const {
    for (const LinkId link : reading_.system.node(device).links) {
      const Node& end = reading_.system.node(reading_.system.link(link).to);
      if (end.kind == NodeKind::kGpu) return end.gpu.compute_capability;
    }
    return 0;
  }

  void join_nvlinks() {
    System& system = reading_.system;
    // Both ends of a link between GPUs list it; each pair is joined by the larger count of the two.
    std::map<std::pair<NodeId, NodeId>, std::pair<int, int>> pairs;
    std::map<NodeId, int> totals;
    for (const auto& [device, element] : nvlinks_) {
      const int count = integer(*element, "count", 1);
      if (count < 1 || count > 1024) {
        error(*element, fmt::format("count=\"{}\" is not a number of NVLinks", count));
        continue;
      }
      const double gbps = nvlink_gbps(capability_of(device)) * count;
      const std::string_view kind = element->get("tclass");
      const std::string_view target = element->get("target");
      totals[device] += count;
      if (kind.starts_with(kNvSwitchClass) && !kind.starts_with("0x068001")) {
        if (switch_ == kNoNode) switch_ = system.add_node({.kind = NodeKind::kNvSwitch});
        system.connect(device, switch_, LinkKind::kNvlink, gbps);
        switched_.insert(device);
      } else if (kind.starts_with("0x068001")) {
        system.connect(device, system.cpu_of(device), LinkKind::kNvlink, gbps);
      } else {
        const auto found = devices_.find({system.node(device).host, canonical_bus_id(target)});
        if (found == devices_.end()) {
          warn(*element, fmt::format("the NVLink's target \"{}\" is not a GPU of the file; ignored",
                                     target.substr(0, 40)));
        } else if (found->second == device) {
          warn(*element, "the NVLink leads to the GPU itself; ignored");
        } else {
          auto& counts = pairs[std::minmax(device, found->second)];
          (device < found->second ? counts.first : counts.second) += count;
        }
      }
    }
    for (const auto& [ends, counts] : pairs) {
      const double per_link =
          std::min(nvlink_gbps(capability_of(ends.first)), nvlink_gbps(capability_of(ends.second)));
      system.connect(ends.first, ends.second, LinkKind::kNvlink,
                     per_link * std::max(counts.first, counts.second));
    }
    for (const NodeId gpu : std::vector(system.gpus().begin(), system.gpus().end())) {
      system.node(gpu).gpu.nvlinks = totals[system.node(gpu).parent];
      system.node(gpu).gpu.on_nvswitch = switched_.contains(system.node(gpu).parent);
    }
  }

  void group_ports() {
    System& system = reading_.system;
    std::map<std::tuple<int, std::uint64_t, int>, int> groups;
    int next = 0;
    for (const NodeId id : std::vector(system.nets().begin(), system.nets().end())) {
      NetInfo& net = system.node(id).net;
      if (net.guid == 0) {
        net.port_group = next++;
        continue;
      }
      const auto [entry, fresh] = groups.insert({{system.node(id).host, net.guid, net.port}, next});
      if (fresh) ++next;
      net.port_group = entry->second;
    }
  }

  /// Either every GPU says its rank and no two say the same, or ranks follow the device numbers.
  void settle_ranks() {
    System& system = reading_.system;
    std::set<int> ranks;
    std::set<std::pair<int, int>> devices;
    bool all = true;
    for (const auto& [gpu, element] : gpu_elements_) {
      const GpuInfo& info = system.node(gpu).gpu;
      all = all && info.rank >= 0;
      if (info.rank >= 0 && !ranks.insert(info.rank).second) {
        error(*element, fmt::format("a second <gpu rank=\"{}\">", info.rank));
        all = false;
      }
    }
    if (all) return;
    std::vector<NodeId> order(system.gpus().begin(), system.gpus().end());
    std::stable_sort(order.begin(), order.end(), [&](NodeId one, NodeId other) {
      return std::pair(system.node(one).host, system.node(one).gpu.device) <
             std::pair(system.node(other).host, system.node(other).gpu.device);
    });
    int rank = 0;
    for (const NodeId gpu : order) system.node(gpu).gpu.rank = rank++;
  }

  const Document& document_;
  Reading reading_;
  std::vector<std::string_view> hosts_;
  int host_ = 0;
  NodeId switch_ = kNoNode;
  std::set<std::pair<int, int>> numas_;
  std::set<std::pair<int, std::string>> bus_ids_;
  std::set<std::pair<int, int>> net_devices_;
  std::map<std::pair<int, std::string>, NodeId> devices_;
  std::vector<std::pair<NodeId, const Element*>> gpu_elements_;
  std::vector<NvlinkEnd> nvlinks_;
  std::set<NodeId> switched_;
};

}  // namespace

std::string canonical_bus_id(std::string_view text) {
  // [domain:]bus:device[.function]; domains of virtual machines may have up to eight digits.
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == ':' || letter == '.') {
      parts.emplace_back();
      if (parts.size() > 4) return {};
    } else if ((letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f')) {
      parts.back() += letter;
    } else if (letter >= 'A' && letter <= 'F') {
      parts.back() += static_cast<char>(letter - 'A' + 'a');
    } else {
      return {};
    }
    if (parts.back().size() > 8) return {};
  }
  const bool with_function = text.find('.') != std::string_view::npos;
  if (!with_function) parts.emplace_back("0");
  if (parts.size() == 3) parts.insert(parts.begin(), "0000");
  if (parts.size() != 4) return {};
  if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); })) {
    return {};
  }
  while (parts[0].size() > 4 && parts[0].front() == '0') parts[0].erase(0, 1);
  return fmt::format("{:0>4}:{:0>2}:{:0>2}.{}", parts[0], parts[1], parts[2], parts[3]);
}

Reading read_system_leniently(const Document& document) {
  return Reader(document).read();
}

System read_system(const Document& document) {
  Reading reading = read_system_leniently(document);
  for (const Finding& finding : reading.findings) {
    if (finding.severity == Finding::Severity::kError) {
      throw Error(ncclInvalidUsage, "{}:{}: {}", document.source, finding.line, finding.text);
    }
  }
  return std::move(reading.system);
}

}  // namespace ripieno::topo

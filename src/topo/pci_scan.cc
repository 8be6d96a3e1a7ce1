#include "topo/pci_scan.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include "topo/bandwidth.h"
#include "topo/read_system.h"

namespace ripieno::topo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDevices = "/sys/bus/pci/devices/";

int number_or(std::string_view text, int fallback) {
  int number = fallback;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Element* find_pci(Element& element, const std::string& bus_id) {
  for (Element& child : element.children) {
    if (child.name == "pci" && child.get("busid") == bus_id) return &child;
    if (Element* found = find_pci(child, bus_id)) return found;
  }
  return nullptr;
}

#if defined(__x86_64__)
constexpr std::string_view kArch = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kArch = "arm64";
#else
constexpr std::string_view kArch = "unknown";
#endif

}  // namespace

PciScan::PciScan(std::string root) : root_(std::move(root)) {}

std::string PciScan::read_line(const std::string& path) const {
  std::ifstream file(root_ + path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
  return line;
}

std::vector<std::string> PciScan::names_in(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code missing;
  for (fs::directory_iterator entry(root_ + path, missing), end; !missing && entry != end;
       entry.increment(missing)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Element> PciScan::cpus() const {
  std::map<std::string, std::string> facts;
  std::ifstream info(root_ + "/proc/cpuinfo");
  for (std::string line; std::getline(info, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string key = line.substr(0, colon);
    while (!key.empty() && (key.back() == '\t' || key.back() == ' ')) key.pop_back();
    facts[key] = colon + 2 <= line.size() ? line.substr(colon + 2) : std::string();
  }
  std::vector<std::pair<int, std::string>> nodes;
  for (const std::string& name : names_in("/sys/devices/system/node")) {
    if (!name.starts_with("node") || name.size() < 5) continue;
    const int node = number_or(std::string_view(name).substr(4), -1);
    if (node >= 0) nodes.emplace_back(node, "/sys/devices/system/node/" + name + "/cpumap");
  }
  if (nodes.empty()) nodes.emplace_back(0, "");
  std::sort(nodes.begin(), nodes.end());
  std::vector<Element> cpus;
  for (const auto& [node, map] : nodes) {
    Element cpu{.name = "cpu"};
    cpu.set("numaid", std::to_string(node));
    cpu.set("affinity", map.empty() ? std::string() : read_line(map));
    cpu.set("arch", std::string(kArch));
    if (facts.contains("vendor_id")) {
      cpu.set("vendor", facts["vendor_id"]);
      cpu.set("familyid", facts["cpu family"]);
      cpu.set("modelid", facts["model"]);
    }
    cpus.push_back(std::move(cpu));
  }
  return cpus;
}

std::string PciScan::bus_id_behind(const std::string& entry) const {
  std::error_code missing;
  const fs::path path = fs::canonical(root_ + entry, missing);
  if (missing) return {};
  // Virtual functions of a card may have a bus of their own below it (virtio, vmbus).
  for (fs::path at = path; at.has_relative_path(); at = at.parent_path()) {
    const std::string name = at.filename();
    std::string bus_id = canonical_bus_id(name);
    if (!bus_id.empty() && name.find('.') != std::string::npos) return bus_id;
  }
  return {};
}

/// The PCI functions above one, from the root down.
std::vector<std::string> PciScan::ports_above(const std::string& bus_id) const {
  std::vector<std::string> ports;
  std::error_code missing;
  const fs::path path = fs::canonical(root_ + std::string(kDevices) + bus_id, missing);
  if (missing) return ports;
  for (const fs::path& part : path.parent_path()) {
    const std::string name = part;
    if (name.find('.') != std::string::npos && canonical_bus_id(name) == name) {
      ports.push_back(name);
    }
  }
  return ports;
}

int PciScan::numa_of(const std::string& bus_id) const {
  return std::max(number_or(read_line(std::string(kDevices) + bus_id + "/numa_node"), 0), 0);
}

void PciScan::describe(Element& element, const std::string& bus_id, const std::string& port) const {
  const std::string folder = std::string(kDevices) + bus_id + "/";
  element.set("busid", bus_id);
  for (const auto& [attribute, file] :
       {std::pair("class", "class"), std::pair("vendor", "vendor"), std::pair("device", "device"),
        std::pair("subsystem_vendor", "subsystem_vendor"),
        std::pair("subsystem_device", "subsystem_device")}) {
    element.set(attribute, read_line(folder + file));
  }
  // A link is as fast as the slower of its ends.
  std::string speed = read_line(folder + "max_link_speed");
  int width = number_or(read_line(folder + "max_link_width"), 0);
  if (!port.empty()) {
    const std::string above = std::string(kDevices) + port + "/";
    const std::string port_speed = read_line(above + "max_link_speed");
    const int port_width = number_or(read_line(above + "max_link_width"), 0);
    if (!port_speed.empty() && pci_gbps(port_speed, 16) < pci_gbps(speed, 16)) speed = port_speed;
    if (port_width > 0 && (width <= 0 || port_width < width)) width = port_width;
  }
  if (!speed.empty() && (speed.front() < '0' || speed.front() > '9')) speed.clear();
  element.set("link_speed", speed);
  element.set("link_width", std::to_string(width > 0 && width <= 64 ? width : 0));
}

Element& PciScan::add_function(Element& system, const std::string& bus_id) const {
  if (Element* found = find_pci(system, bus_id)) return *found;
  const int numa = numa_of(bus_id);
  Element* parent = nullptr;
  for (Element& cpu : system.children) {
    if (cpu.name == "cpu" && cpu.get("numaid") == std::to_string(numa)) parent = &cpu;
  }
  if (parent == nullptr) parent = &system.children.front();
  // Root port, then each switch as an upstream and a downstream port; the upstream port stands for
  // the switch, and its link is the one to the port before it.
  const std::vector<std::string> ports = ports_above(bus_id);
  for (std::size_t index = 1; index + 1 < ports.size(); index += 2) {
    Element* child = find_pci(system, ports[index]);
    if (child == nullptr) {
      child = &parent->add("pci");
      describe(*child, ports[index], ports[index - 1]);
    }
    parent = child;
  }
  Element& function = parent->add("pci");
  describe(function, bus_id, ports.empty() ? std::string() : ports.back());
  return function;
}

}  // namespace ripieno::topo

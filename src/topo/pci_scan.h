// What the kernel tells about PCI functions, CPUs and network cards, read from sysfs and procfs
// below any root: the same files that hwloc reads. Every one of them may be missing.
#pragma once

#include <string>
#include <vector>

#include "topo/document.h"

namespace ripieno::topo {

class PciScan {
 public:
  /// `root` stands for "/"; tests give a folder of their own.
  explicit PciScan(std::string root = {});

  /// One element per NUMA node, with CPU model and affinity; at least one.
  [[nodiscard]] std::vector<Element> cpus() const;
  /// Adds the function with all its switches to the right CPU of `system` and returns its element.
  /// A function that the kernel does not show is put under the first CPU.
  Element& add_function(Element& system, const std::string& bus_id) const;
  /// The bus id of the function behind a sysfs entry such as /sys/class/net/eth0/device; empty if
  /// there is none.
  [[nodiscard]] std::string bus_id_behind(const std::string& entry) const;

  [[nodiscard]] std::string read_line(const std::string& path) const;
  /// Names in a folder, sorted; empty where there is none.
  [[nodiscard]] std::vector<std::string> names_in(const std::string& path) const;

 private:
  [[nodiscard]] std::vector<std::string> ports_above(const std::string& bus_id) const;
  [[nodiscard]] int numa_of(const std::string& bus_id) const;
  void describe(Element& element, const std::string& bus_id, const std::string& port) const;

  std::string root_;
};

}  // namespace ripieno::topo

// Graph files for a small machine: read or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "graph/graph_xml.h"
#include "topo/read_system.h"

namespace {

constexpr std::string_view kMachine =
    "<system><cpu numaid='0' arch='x86_64'>"
    "<pci busid='01:00.0' class='0x030200'><gpu dev='0' sm='80' rank='0'/></pci>"
    "<pci busid='02:00.0' class='0x030200'><gpu dev='1' sm='80' rank='1'/></pci>"
    "<nic><net name='n' dev='0' speed='100000' port='1' guid='1'/></nic></cpu></system>";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ripieno;
  static const topo::System system = topo::read_system(topo::parse_document(kMachine, "machine"));
  static const topo::PathTable paths(system, {});
  try {
    const topo::Document document =
        topo::parse_document(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    (void)graph::graphs_from_xml(document, paths, {.scope = graph::Scope::kInter});
  } catch (const Error&) {
    // Refused with a sentence: as it should be.
  }
  return 0;
}

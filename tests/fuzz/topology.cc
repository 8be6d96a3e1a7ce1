// Topology files.
#include "base/error.h"
#include "fuzz/input.h"
#include "topo/merge.h"
#include "topo/paths.h"
#include "topo/read_system.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ripieno;
  try {
    const topo::Document document = topo::parse_document(fuzz::Input(data, size).text(), "fuzz");
    const topo::Reading reading = topo::read_system_leniently(document);
    const topo::PathTable paths(reading.system, {});
    (void)topo::parse_document(topo::write_document(document.root), "again");
  } catch (const Error& error) {
    fuzz::demand(std::string_view(error.what()).find("fuzz") != std::string_view::npos);
  }
  return 0;
}

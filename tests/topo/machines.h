// The topology files of the tests, and systems made from text.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "topo/domain.h"
#include "topo/paths.h"
#include "topo/read_system.h"

namespace ripieno::topo::testing {

inline std::string machine_file(const std::string& name) {
  return std::string(RIPIENO_TEST_MACHINES) + "/" + name + ".xml";
}

inline std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(RIPIENO_TEST_MACHINES)) {
    if (entry.path().extension() == ".xml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A machine by name; "gb200-tray*18" is that many in one NVLink domain.
inline System load_machine(const std::string& name) {
  const std::size_t star = name.find('*');
  Document document = load_document(machine_file(name.substr(0, star)));
  if (star != std::string::npos) {
    document = repeat_in_domain(document, std::stoi(name.substr(star + 1)));
  }
  return read_system(document);
}

inline System system_of(const std::string& text) {
  return read_system(parse_document(text, "test.xml"));
}

/// Compares with a file of pinned text; RIPIENO_UPDATE_PINS=1 writes it instead.
inline std::string pinned(const std::string& file, const std::string& now) {
  if (std::getenv("RIPIENO_UPDATE_PINS") != nullptr) std::ofstream(file) << now;
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace ripieno::topo::testing

// From a tree of elements to the graph of a machine. Everything that does not fit is a finding with
// a line; the reader goes on after each, so that `ripieno topo lint` can list them all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/document.h"
#include "topo/system.h"

namespace ripieno::topo {

struct Finding {
  enum class Severity : std::uint8_t {
    kError,    ///< The file is not used.
    kWarning,  ///< It is used, but something in it probably is not what was meant.
  };
  Severity severity = Severity::kError;
  int line = 0;
  std::string text{};
};

/// What a document says, and what is wrong with it. The system holds what could be understood.
struct Reading {
  System system{};
  std::vector<Finding> findings{};
};
[[nodiscard]] Reading read_system_leniently(const Document& document);

/// The same, but the first error is thrown as Error (ncclInvalidUsage), "source:line: reason".
[[nodiscard]] System read_system(const Document& document);

/// A canonical text of a bus id: lower case, with domain. Empty if it is none.
[[nodiscard]] std::string canonical_bus_id(std::string_view text);

}  // namespace ripieno::topo

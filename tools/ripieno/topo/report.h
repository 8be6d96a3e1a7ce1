// What `ripieno topo` prints about its subject, for people and for programs.
#pragma once

#include <string>

#include "topo/subject.h"

namespace ripieno::tool {

/// Graphs of the scope in use, one line each, with their channels; rings and trees over hosts.
[[nodiscard]] std::string graphs_text(const Subject& subject);
/// Everything, as JSON.
[[nodiscard]] std::string subject_json(const Subject& subject);

}  // namespace ripieno::tool

// A file and what was found on the machine, made one. The file knows where things are (a virtual
// machine often hides its PCI switches), the machine knows which are really there: positions and
// values of the file win, and what it leaves out is filled in.
#pragma once

#include <map>
#include <string>

#include "topo/document.h"

namespace ripieno::topo {

/// Elements are the same if they have the same bus id, NUMA node, device or network name, wherever
/// they stand. What is only in `found` keeps its place there, under the nearest common parent.
[[nodiscard]] Document merge_documents(const Document& file, const Document& found);

/// Gives GPUs their ranks by bus id and drops those that are not listed.
void assign_ranks(Element& root, const std::map<std::string, int>& rank_of_bus_id);

}  // namespace ripieno::topo

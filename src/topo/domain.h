// Several hosts joined by NVLink are one machine: their documents become one, each host with its
// own CPUs and cards, all GPUs on the same NVSwitches.
#pragma once

#include <span>

#include "topo/document.h"

namespace ripieno::topo {

/// One document out of several; hosts keep their order, ranks and devices are numbered on.
[[nodiscard]] Document join_domain(std::span<const Document> hosts);
/// `count` hosts like this one.
[[nodiscard]] Document repeat_in_domain(const Document& host, int count);
/// Only the first `gpus` GPUs by device number; their cards and switches stay.
[[nodiscard]] Document keep_gpus(const Document& document, int gpus);

}  // namespace ripieno::topo

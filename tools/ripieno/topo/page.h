// The page of `ripieno topo --html`: one file that draws a machine, lets a reader highlight its
// rings and trees, and plots what the cost model predicts. It loads nothing from anywhere.
#pragma once

#include <string>

#include "topo/subject.h"

namespace ripieno::tool {

/// HTML text. Needs the subject's graphs.
[[nodiscard]] std::string page_html(const Subject& subject);

}  // namespace ripieno::tool

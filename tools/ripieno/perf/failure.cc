// How a code of the library becomes a sentence.
#include "perf/failure.h"

#include <fmt/format.h>

namespace ripieno::tool::perf {

void check(ncclResult_t result, std::string_view what) {
  if (result == ncclSuccess) return;
  const std::string_view sentence = ncclGetLastError(nullptr);
  throw Failure(fmt::format("{}: {} ({})", what, sentence.empty() ? "no reason given" : sentence,
                            ncclGetErrorString(result)));
}

}  // namespace ripieno::tool::perf

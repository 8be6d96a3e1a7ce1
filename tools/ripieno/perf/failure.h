// What ends a measurement early: a failed call of the library, with its own sentence.
#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string_view>

namespace ripieno::tool::perf {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Failure unless `result` is ncclSuccess: what was done, the library's last sentence, and
/// the code.
void check(ncclResult_t result, std::string_view what);

}  // namespace ripieno::tool::perf

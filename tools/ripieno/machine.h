// What machine and which versions a result was made with.
#pragma once

#include <cstdint>
#include <string>

namespace ripieno::tool {

struct Machine {
  std::string host;
  std::string kernel;
  std::string processor;
  int cores = 0;  ///< That this process may use.
  std::uint64_t memory_bytes = 0;
};

[[nodiscard]] Machine describe_machine();
/// Model name in the text of /proc/cpuinfo, "unknown" where it has none.
[[nodiscard]] std::string processor_name(const std::string& cpuinfo);
/// "gcc 12.2.0", of this program.
[[nodiscard]] std::string compiler();

}  // namespace ripieno::tool

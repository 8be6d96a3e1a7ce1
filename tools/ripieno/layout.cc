// Looking for the libraries next to the command.
#include "layout.h"

#include <fmt/format.h>

#include <stdexcept>

namespace ripieno::tool {

Layout layout_of(const std::filesystem::path& executable) {
  const std::filesystem::path folder = executable.parent_path();
  for (const char* relative : {RIPIENO_LIBRARIES_FROM_COMMAND, "../lib", "../lib64"}) {
    const std::filesystem::path libraries = (folder / relative).lexically_normal();
    std::error_code ignored;
    if (std::filesystem::exists(libraries / "libnccl.so.2", ignored)) {
      return {libraries, libraries / "ripieno" / "host"};
    }
  }
  throw std::runtime_error(
      fmt::format("libnccl.so.2 is not in {} (nor in ../lib): is the installation complete?",
                  (folder / RIPIENO_LIBRARIES_FROM_COMMAND).lexically_normal().string()));
}

Layout find_layout() {
  return layout_of(std::filesystem::read_symlink("/proc/self/exe"));
}

}  // namespace ripieno::tool

// Where the parts of an installation lie, seen from the running command: everything is found by
// relative paths, so that the tree can be moved, and the build tree looks the same.
#pragma once

#include <filesystem>

namespace ripieno::tool {

struct Layout {
  std::filesystem::path libraries;     ///< Has libnccl.so.2.
  std::filesystem::path host_runtime;  ///< Has the libcudart of the host backend.
};

/// Throws std::runtime_error naming what is not there.
[[nodiscard]] Layout find_layout();
/// The same for a command at `executable`, for tests.
[[nodiscard]] Layout layout_of(const std::filesystem::path& executable);

}  // namespace ripieno::tool

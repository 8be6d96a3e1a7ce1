// The one exception of the library. It carries the code that the caller will see and a full
// sentence that says what failed, where, with which peer, and what to try. It is caught at the C
// border and at thread bodies only.
#pragma once

#include <fmt/format.h>
#include <nccl.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ripieno {

class Error : public std::runtime_error {
 public:
  template <typename... Args>
  Error(ncclResult_t result, fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)), result_(result) {}

  /// A failed system call: "<what>: <strerror(errno_value)> (errno N)", as ncclSystemError.
  [[nodiscard]] static Error system(std::string_view what, int errno_value);

  [[nodiscard]] ncclResult_t result() const noexcept { return result_; }

 private:
  ncclResult_t result_;
};

/// Keeps `sentence` for ncclGetLastError (process-wide, the last one wins). Any thread.
void set_last_error(std::string_view sentence) noexcept;
/// The sentence last kept; valid in the calling thread until its next call. Empty string when there
/// is none.
const char* last_error() noexcept;

/// The fixed text of a result code, as ncclGetErrorString returns it.
const char* result_text(ncclResult_t result) noexcept;
/// The code's name, "ncclInvalidUsage".
const char* result_name(ncclResult_t result) noexcept;

}  // namespace ripieno

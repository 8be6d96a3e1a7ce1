// Texts of result codes, and the sentence kept for ncclGetLastError: one buffer for the process
// behind a lock, copied into a buffer of the asking thread so that what a caller holds never
// changes under it.
#include "base/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace ripieno {
namespace {

/// Longer sentences are cut.
using Sentence = std::array<char, 2048>;

struct Kept {
  std::mutex mutex;
  Sentence sentence{};
};

Kept& kept() noexcept {
  static Kept the_one;
  return the_one;
}

}  // namespace

Error Error::system(std::string_view what, int errno_value) {
  std::array<char, 128> buffer{};
  // The GNU variant may answer with a constant text instead of filling the buffer.
  const char* reason = ::strerror_r(errno_value, buffer.data(), buffer.size());
  return Error(ncclSystemError, "{}: {} (errno {})", what, reason, errno_value);
}

void set_last_error(std::string_view sentence) noexcept {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const std::size_t length = std::min(sentence.size(), all.sentence.size() - 1);
  std::copy_n(sentence.data(), length, all.sentence.data());
  all.sentence[length] = '\0';
}

const char* last_error() noexcept {
  thread_local Sentence mine{};
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  std::memcpy(mine.data(), all.sentence.data(), std::strlen(all.sentence.data()) + 1);
  return mine.data();
}

const char* result_text(ncclResult_t result) noexcept {
  switch (static_cast<int>(result)) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error: a device call failed, ncclGetLastError says which";
    case ncclSystemError:
      return "unhandled system error: a system call failed, ncclGetLastError says which";
    case ncclInternalError:
      return "internal error: a fault of the library, please report it";
    case ncclInvalidArgument:
      return "invalid argument: ncclGetLastError says which and why";
    case ncclInvalidUsage:
      return "invalid usage: ncclGetLastError says what is not allowed here";
    case ncclRemoteError:
      return "remote error: another rank ended or the network to it failed";
    case ncclInProgress:
      return "operation in progress";
    default:
      return "unknown result code";
  }
}

const char* result_name(ncclResult_t result) noexcept {
  switch (static_cast<int>(result)) {
    case ncclSuccess:
      return "ncclSuccess";
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
    case ncclInProgress:
      return "ncclInProgress";
    default:
      return "unknown ncclResult_t";
  }
}

}  // namespace ripieno

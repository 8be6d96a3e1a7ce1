// An eventfd beside the flag: the flag is cheap to look at, the descriptor wakes poll().
#include "base/cancellation.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

#include "base/error.h"

namespace ripieno {

Cancellation::Cancellation() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw Error::system("Could not make an event descriptor", errno);
}

void Cancellation::cancel() noexcept {
  cancelled_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  const int saved = errno;
  // A full counter would refuse the write, and it is then readable already.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof(one));
  errno = saved;
}

}  // namespace ripieno

// An epoll loop over process descriptors and links.
#include "observe/monitor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "base/unique_fd.h"

namespace ripieno::observe {
namespace {

/// Process descriptor of `process_id`; empty when there is no such process, or none that can be
/// seen from here.
UniqueFd open_process(int process_id) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, process_id, 0)));
}

/// All watches of the process, and the thread that serves them while there are any.
class Monitor {
 public:
  static Monitor& instance() {
    // Never destroyed: watches may end after static destructors have run.
    static auto* const monitor = new Monitor;
    return *monitor;
  }

  std::uint64_t add(int process_id, int link, std::function<void()> on_death) {
    Entry entry{.descriptor = process_id > 0 ? open_process(process_id) : UniqueFd(),
                .on_death = std::move(on_death)};
    const std::lock_guard start_lock(thread_mutex_);
    const std::lock_guard lock(mutex_);
    if (entries_.empty()) {
      start();
    }
    const int fd = entry.descriptor ? entry.descriptor.get() : link;
    const std::uint64_t id = ++last_id_;
    // A process descriptor becomes readable when the process has ended, a link hangs up.
    epoll_event event{.events = entry.descriptor ? EPOLLIN : EPOLLRDHUP, .data = {.u64 = id}};
    entry.watched = fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      const int error = errno;
      if (error != EEXIST) {
        throw Error::system("cannot watch a peer process (epoll_ctl)", error);
      }
      // Another watch already holds the same link: watch a duplicate.
      entry.descriptor = UniqueFd(dup(link));
      entry.watched = entry.descriptor.get();
      if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, entry.watched, &event) != 0) {
        throw Error::system("cannot watch a peer process (epoll_ctl)", errno);
      }
    }
    entries_.emplace(id, std::move(entry));
    return id;
  }

  void remove(std::uint64_t id) noexcept {
    const std::lock_guard start_lock(thread_mutex_);
    bool last = false;
    {
      // The callback runs under this mutex, so holding it means that it is not running.
      const std::lock_guard lock(mutex_);
      const auto entry = entries_.find(id);
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->second.watched, nullptr);
      entries_.erase(entry);
      last = entries_.empty();
    }
    if (last) {
      stop();
    }
  }

 private:
  struct Entry {
    UniqueFd descriptor;
    int watched = -1;
    std::function<void()> on_death;
  };

  void start() {
    epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
    if (!epoll_ || !wake_) {
      throw Error::system("cannot start the monitor (epoll, eventfd)", errno);
    }
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kWake}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
    thread_ = start_thread("ripieno-monitor", [this] { serve(); });
  }

  void stop() noexcept {
    const std::uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
    epoll_.reset();
    wake_.reset();
  }

  void serve() {
    std::array<epoll_event, 16> events{};
    for (;;) {
      const int count =
          epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
      for (int index = 0; index < count; ++index) {
        const std::uint64_t id = events[static_cast<std::size_t>(index)].data.u64;
        if (id == kWake) {
          return;
        }
        report(id);
      }
    }
  }

  void report(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(id);
    if (entry == entries_.end()) {
      return;
    }
    // Dead for good: no further events, but the entry stays until its watch ends.
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->second.watched, nullptr);
    entry->second.on_death();
  }

  static constexpr std::uint64_t kWake = 0;

  std::mutex thread_mutex_;  ///< Serialises start() and stop(); taken before mutex_.
  std::mutex mutex_;         ///< Guards entries_; held while a callback runs.
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t last_id_ = 0;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::jthread thread_;
};

class ProcessWatch final : public Watch {
 public:
  explicit ProcessWatch(std::uint64_t id) noexcept : id_(id) {}
  ~ProcessWatch() override { Monitor::instance().remove(id_); }
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

 private:
  std::uint64_t id_;
};

}  // namespace

std::unique_ptr<Watch> watch_process(int process_id, int link, std::function<void()> on_death) {
  return std::make_unique<ProcessWatch>(
      Monitor::instance().add(process_id, link, std::move(on_death)));
}

}  // namespace ripieno::observe

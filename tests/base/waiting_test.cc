// What threads wait with: deadlines, cancellations, futexes; and descriptors that close themselves.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/time.h>

#include <atomic>
#include <thread>

#include "base/cancellation.h"
#include "base/deadline.h"
#include "base/futex.h"
#include "base/unique_fd.h"

namespace ripieno {
namespace {

using std::chrono::milliseconds;

TEST(Deadline, CountsDownAndExpires) {
  const Deadline past = Deadline::after(milliseconds(0));
  EXPECT_TRUE(past.expired());
  EXPECT_EQ(past.remaining(), milliseconds(0));
  EXPECT_EQ(past.poll_timeout(), 0);
  const Deadline far = Deadline::after(std::chrono::hours(1));
  EXPECT_FALSE(far.expired());
  EXPECT_GT(far.remaining(), std::chrono::minutes(59));
  EXPECT_EQ(earlier(past, far).end(), past.end());
}

TEST(Deadline, NeverNeverEnds) {
  EXPECT_FALSE(Deadline::never().expired());
  EXPECT_EQ(Deadline::never().poll_timeout(), -1);
  EXPECT_TRUE(Deadline::after(milliseconds::max()).is_never());
  EXPECT_FALSE(earlier(Deadline::never(), Deadline::after(milliseconds(1))).is_never());
}

TEST(Cancellation, IsSeenAndWakesPoll) {
  Cancellation cancellation;
  EXPECT_FALSE(cancellation.cancelled());
  pollfd watched{.fd = cancellation.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&watched, 1, 0), 0);
  std::thread canceller([&] { cancellation.cancel(); });
  EXPECT_EQ(::poll(&watched, 1, -1), 1);
  EXPECT_TRUE(cancellation.cancelled());
  canceller.join();
  cancellation.cancel();
  EXPECT_EQ(::poll(&watched, 1, 0), 1) << "it stays readable";
}

TEST(Futex, WakesASleeper) {
  for (const FutexScope scope : {FutexScope::kPrivate, FutexScope::kShared}) {
    std::atomic<std::uint32_t> word{0};
    std::thread sleeper([&] {
      while (word.load() == 0) futex_wait(word, 0, std::chrono::seconds(30), scope);
    });
    word.store(1);
    futex_wake(word, 1, scope);
    sleeper.join();
  }
}

TEST(Futex, ReturnsAtOnceWhenTheWordHasChanged) {
  std::atomic<std::uint32_t> word{5};
  EXPECT_TRUE(futex_wait(word, 4, std::chrono::nanoseconds(-1), FutexScope::kPrivate));
}

TEST(Futex, TimeEndsAWaitAndSignalsDoNot) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before {};
  ::sigaction(SIGALRM, &action, &before);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 500},
                        .it_value = {.tv_sec = 0, .tv_usec = 500}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  std::atomic<std::uint32_t> word{0};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(futex_wait(word, 0, milliseconds(30), FutexScope::kPrivate));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(30));
  const itimerval off{};
  ::setitimer(ITIMER_REAL, &off, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST(UniqueFd, ClosesWhatItOwnsOnce) {
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    UniqueFd first(raw);
    UniqueFd second(std::move(first));
    EXPECT_FALSE(
        first.valid());  // NOLINT(bugprone-use-after-move): what a move leaves is the point.
    EXPECT_EQ(second.get(), raw);
    first = std::move(second);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
  UniqueFd released(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int kept = released.release();
  EXPECT_FALSE(released);
  EXPECT_TRUE(is_open(kept));
  ::close(kept);
}

}  // namespace
}  // namespace ripieno

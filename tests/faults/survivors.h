// What survivors of a fault must see, and how a process is made to die.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>

#include "cases/simple.h"
#include "support/board.h"
#include "support/party.h"
#include "support/process_state.h"

namespace ripieno::test {

/// Survivors are to know within 2 s; a test machine may be busy with other things.
inline constexpr std::chrono::seconds kToldWithin{2 * 10};

/// When the victim of a run died, in nanoseconds of the steady clock; 0: not by die().
inline std::atomic<std::uint64_t>& time_of_death() {
  return board().words.back();
}

[[noreturn]] inline void die() {
  time_of_death().store(static_cast<std::uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1}));
  kill(getpid(), SIGKILL);
  for (;;) {
    pause();
  }
}

/// Ends the process after `delay`, whatever it is doing then.
inline void die_in(std::chrono::microseconds delay) {
  std::thread([delay] {
    std::this_thread::sleep_for(delay);
    die();
  }).detach();
}

/// Starts the runtime's own long-lived parts, so that what a process holds afterwards is what
/// communicators took.
inline void warm_up() {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  check(ncclGetUniqueId(&id));
  check(ncclCommInitRank(&comm, 1, id, 0));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  { const Buffer buffer = buffer_of(std::vector<int>(1000), stream); }
  check(cudaStreamDestroy(stream));
  check(ncclCommDestroy(comm));
  std::ignore = ProcessState::at_rest();
}

/// The communicator says ncclRemoteError, soon; the next call says it again; the sentence names
/// `who`.
inline void expect_told(Rank& rank, const std::string& who) {
  EXPECT_EQ(wait_for_failure(rank.comm), ncclRemoteError);
  if (const std::uint64_t death = time_of_death().load(); death != 0) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    EXPECT_LE(now - std::chrono::nanoseconds{death}, kToldWithin * kSlowdown);
  }
  std::int32_t value = 0;
  expect_refused(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, rank.comm, rank.stream),
                 ncclRemoteError, {who});
  check(cudaStreamSynchronize(rank.stream));
}

/// Rank 0 has aborted: an operation that needs it fails and says so.
inline void expect_aborted_peer(Rank& rank) {
  const Buffer buffer(MemoryKind::kDevice, 64, rank.stream);
  ncclAllReduce(buffer.data(), buffer.data(), 64, ncclInt8, ncclSum, rank.comm, rank.stream);
  check(cudaStreamSynchronize(rank.stream));
  expect_told(rank, "rank 0 aborted");
}

/// Gives back what init() took, and shows that nothing else is left.
inline void leave(Party& party, const ProcessState& before, bool abort) {
  party.each([abort](Rank& rank) {
    check(cudaStreamSynchronize(rank.stream));
    check((abort ? ncclCommAbort : ncclCommDestroy)(std::exchange(rank.comm, nullptr)));
    check(cudaStreamDestroy(std::exchange(rank.stream, nullptr)));
  });
  expect_state_again(before);
}

}  // namespace ripieno::test

// Which calls a communicator takes when. A communicator is in one state at a time; a failure is
// kept beside it. The table is drawn in docs/communicators.md.
#pragma once

#include <nccl.h>

#include <cstdint>

namespace ripieno::comm {

enum class State : std::uint8_t {
  kBeingMade,   ///< Init, split, shrink or grow has yet to finish.
  kReady,       ///< Operations may be started.
  kBusy,        ///< A split, grow or registration of it is under way.
  kRevoked,     ///< Operations have been stopped for good; others may be made of it.
  kFinalizing,  ///< Waits for its operations, takes no more.
  kFinalized,   ///< Can only be destroyed.
};
inline constexpr int kStates = 6;

enum class Call : std::uint8_t {
  kQuestion,   ///< Number of ranks, own rank, device, operators.
  kOperation,  ///< Collectives and messages.
  kDerive,     ///< Split, grow, registration of windows: takes all ranks.
  kShrink,     ///< Takes the ranks that are left, whatever has failed.
  kRevoke,
  kFinalize,
};
inline constexpr int kCalls = 6;

/// What a state says to a call: ncclSuccess where it is allowed, else the code and the sentence.
struct Verdict {
  ncclResult_t result;
  const char* sentence;
};
[[nodiscard]] Verdict verdict(State state, Call call) noexcept;
[[nodiscard]] const char* state_name(State state) noexcept;

/// Whether a failed communicator still takes the call.
[[nodiscard]] constexpr bool is_for_failed(Call call) noexcept {
  return call == Call::kShrink || call == Call::kRevoke;
}

}  // namespace ripieno::comm

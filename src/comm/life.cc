// The table of states and calls.
#include "comm/life.h"

#include <array>

namespace ripieno::comm {
namespace {

constexpr Verdict kYes{.result = ncclSuccess, .sentence = ""};
constexpr Verdict kBeingMade{
    .result = ncclInvalidArgument,
    .sentence =
        "the communicator is still initialising; poll ncclCommGetAsyncError() until it no "
        "longer says ncclInProgress"};
constexpr Verdict kBusy{
    .result = ncclInvalidArgument,
    .sentence =
        "the communicator is still busy with an earlier call; poll ncclCommGetAsyncError() "
        "until it no longer says ncclInProgress"};
constexpr Verdict kRevoked{
    .result = ncclInvalidUsage,
    .sentence =
        "the communicator has been revoked; no operation can be started on it, split or "
        "shrink it"};
constexpr Verdict kRevokedAlready{.result = ncclInvalidArgument,
                                  .sentence = "the communicator has already been revoked"};
constexpr Verdict kNoFinalize{.result = ncclInvalidArgument,
                              .sentence =
                                  "the communicator has been revoked; nothing is left to "
                                  "finalize, destroy it"};
constexpr Verdict kFinalized{
    .result = ncclInvalidUsage,
    .sentence = "the communicator has been finalized; no operation can be started on it"};
constexpr Verdict kFinalizedAlready{.result = ncclInvalidArgument,
                                    .sentence = "the communicator has already been finalized"};

// Rows are states, columns calls, both in the order of their enumerations.
constexpr std::array<std::array<Verdict, kCalls>, kStates> kTable{{
    {kBeingMade, kBeingMade, kBeingMade, kBeingMade, kBeingMade, kBeingMade},
    {kYes, kYes, kYes, kYes, kYes, kYes},
    {kYes, kBusy, kBusy, kBusy, kYes, kBusy},
    {kYes, kRevoked, kYes, kYes, kRevokedAlready, kNoFinalize},
    {kBusy, kBusy, kBusy, kBusy, kFinalizedAlready, kFinalizedAlready},
    {kYes, kFinalized, kFinalized, kFinalized, kFinalizedAlready, kFinalizedAlready},
}};

}  // namespace

Verdict verdict(State state, Call call) noexcept {
  return kTable[static_cast<std::size_t>(state)][static_cast<std::size_t>(call)];
}

const char* state_name(State state) noexcept {
  constexpr std::array<const char*, kStates> kNames{"being made", "ready",      "busy",
                                                    "revoked",    "finalizing", "finalized"};
  return kNames[static_cast<std::size_t>(state)];
}

}  // namespace ripieno::comm

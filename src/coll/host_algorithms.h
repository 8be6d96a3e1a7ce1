// The algorithms for ranks that reach the same host memory, as schedules over a HostTeam.
//
//   one_shot   every rank copies its input into its slot, all read all:     1 phase,  any memory,
//   small payloads direct     peers read and write each other's buffers in place:          2
//   phases, no extra copy staged     pieces go through staging areas in the control page:         1
//   phase a piece (2 where work is shared out) messages   send and receive between two ranks, in
//   order
//
// Reductions run over the ranks in rank order in all of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/schedule.h"
#include "coll/operation.h"
#include "transport/host_team.h"

namespace ripieno::coll {

/// The largest input of a rank, in bytes, that one_shot can carry.
inline constexpr std::size_t kOneShotLimit = transport::kOneShotBytes;

/// Bytes that one rank contributes at most: what one_shot must fit, and what sizes are chosen by.
std::size_t input_bytes(const Operation& operation, int ranks) noexcept;

/// Every schedule compares the ranks' announcements first and throws Error (ncclInvalidUsage) on
/// every rank when they do not agree. `sequence` is the ordinal of the collective. The operation
/// must outlive the schedule, and so must the team.
Schedule one_shot(transport::HostTeam& team, const Operation& operation, std::uint64_t sequence);
/// Falls back to staging, together with all ranks, when some buffer cannot be reached by its peers.
Schedule direct(transport::HostTeam& team, const Operation& operation, std::uint64_t sequence);

/// A collective of a single rank.
void run_alone(const Operation& operation);

/// All messages of one group to (or from) one peer, in order.
Schedule send_messages(transport::HostTeam& team, int peer, std::vector<Operation> messages);
Schedule receive_messages(transport::HostTeam& team, int peer, std::vector<Operation> messages);
/// Messages of a rank to itself: the k-th send meets the k-th receive. Throws Error
/// (ncclInvalidUsage) on unequal sizes.
void exchange_with_self(std::span<const Operation> sends, std::span<const Operation> receives);

}  // namespace ripieno::coll

// How ranks find each other, before any of them can move data: a unique id names a rendezvous,
// ranks join it, and a tree of authenticated connections then carries small exchanges for as long
// as the communicator lives.
#pragma once

#include <nccl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancellation.h"

namespace ripieno::bootstrap {

/// Makes an id: picks the interface, opens a listener and starts the rendezvous thread in this
/// process (or, with NCCL_COMM_ID, names the address every rank agrees on). Throws Error
/// (ncclInvalidArgument for a bad NCCL_COMM_ID, ncclInvalidUsage when no interface fits,
/// ncclSystemError).
ncclUniqueId create_unique_id();

/// Ends the rendezvous of an id of this process that nobody will use any more, if it still runs.
void withdraw_unique_id(const ncclUniqueId& id) noexcept;

/// Who joins.
struct Membership {
  int rank;
  int ranks;
};

/// Ranks that exchange small things, all of them together. One thread at a time.
class Gathering {
 public:
  Gathering() = default;
  virtual ~Gathering() = default;
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int ranks() const noexcept = 0;
  /// Equal on all ranks and different for every gathering: names the communicator in logs and salts
  /// derived keys.
  [[nodiscard]] virtual std::uint64_t hash() const noexcept = 0;

  /// Every rank contributes `mine` (the same size everywhere) and gets all contributions in rank
  /// order, one after the other. O(log ranks) steps.
  [[nodiscard]] virtual std::vector<std::byte> all_gather(std::span<const std::byte> mine) = 0;
  virtual void barrier() = 0;

  /// Typed all_gather for trivially copyable records.
  template <typename Record>
  [[nodiscard]] std::vector<Record> gather_records(const Record& mine) {
    static_assert(std::is_trivially_copyable_v<Record>);
    const auto bytes = all_gather(std::as_bytes(std::span(&mine, 1)));
    std::vector<Record> records(static_cast<std::size_t>(ranks()));
    std::memcpy(records.data(), bytes.data(), bytes.size());
    return records;
  }
};

/// A rank's membership in the tree. After a failure every further call throws it again: the
/// communicator cannot be trusted to be in step any more.
class Bootstrap : public Gathering {
 public:
  /// A secret that only the ranks of this communicator know, fresh for each communicator. Derive a
  /// key per purpose from it.
  [[nodiscard]] virtual std::array<std::byte, 32> secret() const noexcept = 0;

  /// Ordered, tagged messages between any two ranks; receive() waits for the message of that peer
  /// and tag, others are kept until asked for. send() does not wait for the receiver to ask, as
  /// long as what it was sent and has not taken fits the sockets' buffers (some 64 KiB at least).
  virtual void send(int peer, std::uint64_t tag, std::span<const std::byte> message) = 0;
  [[nodiscard]] virtual std::vector<std::byte> receive(int peer, std::uint64_t tag) = 0;
};

/// Joins the rendezvous of `ids` (one, or several that share the ranks out among them) and returns
/// when all ranks have joined. One rank alone needs no network. Every wait ends, here and in the
/// members' calls afterwards, which have `timeout` each:
///  - when the time is up: ncclRemoteError, "k of n ranks joined after s s; missing: ...";
///  - when a rank ends or leaves: ncclRemoteError with its number, on all ranks that wait;
///  - when ranks contradict each other: ncclInvalidArgument (number of ranks, a rank twice, bytes
///  that are no id) or
///    ncclInvalidUsage (an id used twice, different versions of the library), on all ranks;
///  - when cancelled: ncclInvalidUsage.
/// `cancellation` must outlive the result. Throws Error.
std::unique_ptr<Bootstrap> join(std::span<const ncclUniqueId> ids, Membership membership,
                                std::chrono::milliseconds timeout,
                                const Cancellation& cancellation);

}  // namespace ripieno::bootstrap

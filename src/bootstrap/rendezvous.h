// Where the ranks of one unique id meet: a thread that waits quietly until all have come, tells
// each the address of its parent in the tree, and ends. It also ends when a rank's patience runs
// out, a rank leaves, or two ranks contradict each other; all who wait then get the same sentence.
#pragma once

#include <chrono>
#include <cstdint>

#include "bootstrap/keys.h"
#include "bootstrap/sockets.h"

namespace ripieno::bootstrap {

/// Starts the thread. It ends after `idle` if nobody comes.
void start_rendezvous(Listener listener, const Key& secret, std::chrono::milliseconds idle);

/// What this process knows of a rendezvous, by its secret.
enum class LocalRendezvous : std::uint8_t { kUnknown, kOpen, kOver };
[[nodiscard]] LocalRendezvous local_rendezvous(const Key& secret);
/// Ends a rendezvous of this process that nobody needs any more.
void dismiss_rendezvous(const Key& secret);

/// The key of connections to a rendezvous.
[[nodiscard]] inline Key rendezvous_key(const Key& secret) {
  return derive(secret, "rendezvous");
}

/// Requests and answers are short.
inline constexpr std::size_t kRendezvousFrameLimit = 4096;

}  // namespace ripieno::bootstrap

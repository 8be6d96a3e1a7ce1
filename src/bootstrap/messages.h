// What ranks and the rendezvous say to each other. Encoding never fails; decoding takes any bytes
// and answers with a message or nothing.
#pragma once

#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/address.h"
#include "bootstrap/keys.h"

namespace ripieno::bootstrap {

/// The version that ranks of a communicator must share.
inline constexpr std::string_view kLibraryVersion = RIPIENO_VERSION;

/// A rank at the rendezvous. The version stands first and never moves: it is what tells why the
/// rest cannot be read.
struct JoinRequest {
  enum class Kind : std::uint8_t {
    kMember = 1,  ///< One of the ranks that this rendezvous gathers.
    kLeader = 2,  ///< The first rank of another id's group, at the first id's rendezvous.
  };
  std::string version{kLibraryVersion};
  Kind kind = Kind::kMember;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t groups = 1;  ///< Number of ids.
  std::uint32_t group = 0;   ///< Which of them this rendezvous is.
  Key ids{};                 ///< Derived from all ids: members must have been given the same.
  std::chrono::milliseconds patience{};  ///< How long the rank will wait.
  Address listener;
  std::string place;  ///< "host:pid", for people.
};
std::vector<std::byte> encode(const JoinRequest& request);
std::optional<JoinRequest> decode_join_request(std::span<const std::byte> bytes);
/// The version in a request that cannot be read otherwise; empty if not even that.
std::string version_of_join_request(std::span<const std::byte> bytes);

/// All ranks of this rendezvous are there.
struct Welcome {
  std::int32_t parent_rank = -1;  ///< -1: none, or told by another rendezvous.
  Address parent;
};
std::vector<std::byte> encode(const Welcome& welcome);
std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes);

/// The communicator cannot be, or be any longer.
struct Failure {
  ncclResult_t result = ncclRemoteError;
  std::string sentence;
};
std::vector<std::byte> encode(const Failure& failure);
std::optional<Failure> decode_failure(std::span<const std::byte> bytes);

/// Contributions of some ranks to the exchange number `sequence`, all of the same size.
struct Gather {
  struct Contribution {
    std::uint32_t rank;
    std::span<const std::byte> bytes;  ///< Into the decoded span.
  };
  std::uint64_t sequence = 0;
  std::uint32_t size = 0;
  std::vector<Contribution> contributions;
};
std::vector<std::byte> encode(const Gather& gather);
std::optional<Gather> decode_gather(std::span<const std::byte> bytes);

/// What every rank tells all others in the first exchange.
struct Introduction {
  Address listener;
  Nonce direct_nonce{};  ///< Server's part of direct handshakes.
  Nonce salt{};          ///< Makes the communicator's secret a fresh one.

  static constexpr std::size_t kEncodedBytes = Address::kEncodedBytes + 64;
};
std::vector<std::byte> encode(const Introduction& introduction);
std::optional<Introduction> decode_introduction(std::span<const std::byte> bytes);

}  // namespace ripieno::bootstrap

// How two ends of a connection prove to each other that they know the same key, before either
// believes a byte. The client opens with a hello; where the server is not known to be alive and
// fresh, both challenge each other:
//
//     client                                   server
//     hello: magic, purpose, rank, nonce  -->
//                                         <--  its nonce, and a proof over both
//     proof over both                     -->
//
// A direct connection between ranks that have met skips the middle: its server nonce came with the
// addresses over the tree, and so the client may send hello, proof and message without waiting.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bootstrap/keys.h"

namespace ripieno::bootstrap {

enum class Purpose : std::uint8_t {
  kRendezvous = 1,  ///< A rank, at the thread that gathers them.
  kTree = 2,        ///< A rank, at its parent in the tree.
  kDirect = 3,      ///< A rank, at any other, for tagged messages.
};

struct Hello {
  Purpose purpose;
  std::uint32_t from;  ///< The rank that connects.
  Nonce nonce;
};

inline constexpr std::size_t kHelloBytes = 8 + 1 + 3 + 4 + 32;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kChallengeBytes = 32 + kProofBytes;
using HelloBytes = std::array<std::byte, kHelloBytes>;
using Challenge = std::array<std::byte, kChallengeBytes>;

[[nodiscard]] HelloBytes encode(const Hello& hello);
/// Nothing where the bytes are no hello.
[[nodiscard]] std::optional<Hello> decode_hello(std::span<const std::byte> bytes);
/// Whether the bytes may be the beginning of a hello: a stranger that speaks another protocol is
/// recognised by its first byte.
[[nodiscard]] bool may_be_hello(std::span<const std::byte> beginning);

/// What both ends compute once both nonces are known.
class Handshake {
 public:
  Handshake(const Key& key, const HelloBytes& hello, const Nonce& server_nonce);

  [[nodiscard]] Key server_proof() const { return derive(key_, "server proof", {hello_, nonce_}); }
  [[nodiscard]] Key client_proof() const { return derive(key_, "client proof", {hello_, nonce_}); }
  [[nodiscard]] SessionKeys keys() const;

 private:
  Key key_;
  HelloBytes hello_;
  Nonce nonce_;
};

}  // namespace ripieno::bootstrap

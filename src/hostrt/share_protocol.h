// What a share server and its client say to each other over one SOCK_SEQPACKET connection, a packet
// each:
//
//   client -> server   Hello      which descriptor, a nonce
//   server -> client   Challenge  its nonce and the proof that it knows the descriptor's secret
//   client -> server   Answer     the client's proof
//   server -> client   Grant      the descriptor rides along (SCM_RIGHTS)
//
// A proof is BLAKE2b keyed with the secret over the role, the id and both nonces, so it is good for
// this connection only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hostrt/runtime.h"

namespace ripieno::hostrt::share {

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;
using Secret = std::array<std::byte, 32>;

inline constexpr std::uint32_t kMagic = 0x72697031;  // "rip1"

struct Hello {
  std::uint32_t magic;
  std::uint32_t reserved;
  std::uint64_t id;
  Nonce nonce;
};
struct Challenge {
  Nonce nonce;
  Proof proof;
};
struct Answer {
  Proof proof;
};
struct Grant {
  std::uint32_t magic;
  std::uint32_t reserved;
  std::uint64_t bytes;
};
static_assert(sizeof(Hello) == 48 && sizeof(Challenge) == 64 && sizeof(Answer) == 32 &&
              sizeof(Grant) == 16);

enum class Role : std::uint8_t { kServer = 1, kClient = 2 };

/// Sets libsodium up (once).
void prepare_cryptography();
void fill_random(std::span<std::byte> bytes);
[[nodiscard]] Proof prove(const Secret& secret, Role role, std::uint64_t id, const Nonce& client,
                          const Nonce& server);
[[nodiscard]] bool equal(const Proof& left, const Proof& right) noexcept;

/// The address of an abstract socket. `bytes` is what bind() and connect() want as its length.
struct Address {
  explicit Address(std::string_view name);
  alignas(8) std::array<std::byte, 128> storage{};
  std::uint32_t bytes = 0;
};

/// Sends one packet with an optional descriptor; false if it did not go out whole at once.
[[nodiscard]] bool send_packet(int socket, std::span<const std::byte> packet,
                               int fd_to_pass = -1) noexcept;

template <class Message>
[[nodiscard]] bool send_message(int socket, const Message& message, int fd_to_pass = -1) noexcept {
  return send_packet(socket, std::as_bytes(std::span<const Message, 1>(&message, 1)), fd_to_pass);
}

}  // namespace ripieno::hostrt::share

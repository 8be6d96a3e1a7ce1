// Secrets and what is derived from them. Every purpose has its own key, so that no message of one
// kind can be mistaken for one of another.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

namespace ripieno::bootstrap {

/// 256 bits.
using Key = std::array<std::byte, 32>;
/// A number used once.
using Nonce = std::array<std::byte, 32>;

/// From the system's source of randomness.
[[nodiscard]] Key random_key();

/// BLAKE2b of `parts`, keyed, under a label that says what for. Different (label, parts) never
/// collide by concatenation: every length goes in.
[[nodiscard]] Key derive(const Key& key, std::string_view label,
                         std::initializer_list<std::span<const std::byte>> parts = {});

/// In constant time.
[[nodiscard]] bool equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

/// The two directions of a connection, each with its own keys.
struct SessionKeys {
  Key client_to_server;
  Key server_to_client;
};
[[nodiscard]] SessionKeys session_keys(const Key& key, std::span<const std::byte> transcript);

}  // namespace ripieno::bootstrap

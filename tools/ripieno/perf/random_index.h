// Hashes of (seed, rank, index): cheap, the same everywhere, and in a form that compilers turn into
// vector code.
#pragma once

#include <cstdint>

namespace ripieno::tool::perf {

/// Scrambles 64 bits (the finaliser of SplitMix64).
[[nodiscard]] constexpr std::uint64_t scramble(std::uint64_t value) noexcept {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

/// Hash of the low half of an index; the high half belongs into the key. The top bits are the best
/// ones.
[[nodiscard]] constexpr std::uint32_t hash32(std::uint64_t key, std::uint32_t index) noexcept {
  std::uint32_t value = index * 0x9E3779B1U + static_cast<std::uint32_t>(key);
  value = (value ^ (value >> 15)) * 0x85EBCA77U;
  return value ^ (value >> 16) ^ static_cast<std::uint32_t>(key >> 32);
}

[[nodiscard]] constexpr std::uint64_t hash64(std::uint64_t key, std::uint32_t index) noexcept {
  std::uint64_t value = (index + key) * 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 32)) * 0xD6E8FEB86659FD93U;
  return value ^ (value >> 29);
}

/// `hash` mapped to [0, limit).
[[nodiscard]] constexpr std::uint32_t below(std::uint32_t hash, std::uint32_t limit) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * limit) >> 32);
}
[[nodiscard]] constexpr std::uint64_t below(std::uint64_t hash, std::uint64_t limit) noexcept {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>((Product{hash} * limit) >> 64);
}

}  // namespace ripieno::tool::perf

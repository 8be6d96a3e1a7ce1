// The bytes and proofs of the handshake; who sends them when is in connector.cc and acceptor.cc.
#include "bootstrap/handshake.h"

#include <algorithm>
#include <cstring>

#include "bootstrap/bytes.h"

namespace ripieno::bootstrap {
namespace {

/// Changes whenever the bytes of a handshake do.
constexpr std::uint64_t kMagic = 0x3168'7374'6f6f'4272;

}  // namespace

HelloBytes encode(const Hello& hello) {
  ByteWriter writer;
  writer.number(kMagic);
  writer.number(static_cast<std::uint8_t>(hello.purpose));
  writer.raw(std::array<std::byte, 3>{});
  writer.number(hello.from);
  writer.raw(hello.nonce);
  HelloBytes bytes;
  std::memcpy(bytes.data(), writer.bytes().data(), bytes.size());
  return bytes;
}

std::optional<Hello> decode_hello(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Hello hello{};
  if (reader.number<std::uint64_t>() != kMagic) return std::nullopt;
  hello.purpose = static_cast<Purpose>(reader.number<std::uint8_t>());
  std::array<std::byte, 3> padding{};
  reader.array(padding);
  hello.from = reader.number<std::uint32_t>();
  reader.array(hello.nonce);
  const bool known = hello.purpose >= Purpose::kRendezvous && hello.purpose <= Purpose::kDirect;
  if (!reader.complete() || !known) return std::nullopt;
  return hello;
}

bool may_be_hello(std::span<const std::byte> beginning) {
  ByteWriter magic;
  magic.number(kMagic);
  const std::size_t compared = std::min(beginning.size(), magic.bytes().size());
  return std::memcmp(beginning.data(), magic.bytes().data(), compared) == 0;
}

Handshake::Handshake(const Key& key, const HelloBytes& hello, const Nonce& server_nonce)
    : key_(key), hello_(hello), nonce_(server_nonce) {}

SessionKeys Handshake::keys() const {
  std::array<std::byte, kHelloBytes + 32> transcript;
  std::memcpy(transcript.data(), hello_.data(), hello_.size());
  std::memcpy(transcript.data() + hello_.size(), nonce_.data(), nonce_.size());
  return session_keys(key_, transcript);
}

}  // namespace ripieno::bootstrap

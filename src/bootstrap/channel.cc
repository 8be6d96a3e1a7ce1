// ChaCha20-Poly1305 for frames (each direction of each connection has its own key, so a counter
// makes a fresh nonce) and SipHash for lengths.
#include "bootstrap/channel.h"

#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace ripieno::bootstrap {
namespace {

static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == Sealer::kTagBytes);
static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == std::tuple_size_v<Key>);
static_assert(crypto_shorthash_BYTES == 8 && crypto_shorthash_KEYBYTES == 16);

using AeadNonce = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

AeadNonce nonce_of(std::uint64_t counter) {
  AeadNonce nonce{};
  std::memcpy(nonce.data(), &counter, sizeof(counter));
  return nonce;
}

unsigned char* writable(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}
const unsigned char* raw_bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// Empties a buffer; one that has grown gives its memory back, since a communicator is mostly idle.
void release(std::vector<std::byte>& buffer) noexcept {
  constexpr std::size_t kWorthKeeping = 1024;
  if (buffer.capacity() > kWorthKeeping) {
    std::vector<std::byte>().swap(buffer);
  } else {
    buffer.clear();
  }
}

}  // namespace

Sealer::Sealer(const Key& key) : body_key_(derive(key, "body")) {
  const Key header = derive(key, "header");
  std::copy_n(header.begin(), header_key_.size(), header_key_.begin());
}

void Sealer::header_tag(std::uint32_t length, std::span<std::byte, 8> tag) const {
  std::array<std::byte, 12> input;
  std::memcpy(input.data(), &counter_, 8);
  std::memcpy(input.data() + 8, &length, 4);
  crypto_shorthash(writable(tag), raw_bytes(input), input.size(), raw_bytes(header_key_));
}

void Sealer::seal(FrameType type, std::span<const std::byte> payload, std::vector<std::byte>& out) {
  const auto length = static_cast<std::uint32_t>(1 + payload.size() + kTagBytes);
  const std::size_t start = out.size();
  out.resize(start + kHeaderBytes + length);
  std::byte* const header = out.data() + start;
  std::memcpy(header, &length, 4);
  header_tag(length, std::span<std::byte, 8>(header + 4, 8));
  std::byte* const body = header + kHeaderBytes;
  body[0] = static_cast<std::byte>(type);
  if (!payload.empty()) std::memcpy(body + 1, payload.data(), payload.size());
  const AeadNonce nonce = nonce_of(counter_++);
  auto* const text = reinterpret_cast<unsigned char*>(body);
  crypto_aead_chacha20poly1305_ietf_encrypt(text, nullptr, text, 1 + payload.size(), nullptr, 0,
                                            nullptr, nonce.data(), raw_bytes(body_key_));
}

std::optional<std::uint32_t> Sealer::open_header(
    std::span<const std::byte, kHeaderBytes> header) const {
  std::uint32_t length = 0;
  std::memcpy(&length, header.data(), 4);
  std::array<std::byte, 8> expected;
  header_tag(length, expected);
  if (!equal(expected, header.subspan(4)) || length < 1 + kTagBytes) return std::nullopt;
  return length;
}

std::optional<Frame> Sealer::open_body(std::span<const std::byte> body) {
  if (body.size() < 1 + kTagBytes) return std::nullopt;
  std::vector<std::byte> text(body.size() - kTagBytes);
  const AeadNonce nonce = nonce_of(counter_);
  if (crypto_aead_chacha20poly1305_ietf_decrypt(writable(text), nullptr, nullptr, raw_bytes(body),
                                                body.size(), nullptr, 0, nonce.data(),
                                                raw_bytes(body_key_)) != 0) {
    return std::nullopt;
  }
  ++counter_;
  Frame frame{.type = static_cast<FrameType>(text.front()), .payload = {}};
  text.erase(text.begin());
  frame.payload = std::move(text);
  return frame;
}

Channel::Channel(UniqueFd socket, const SessionKeys& keys, End end, std::size_t limit,
                 std::string peer)
    : socket_(std::move(socket)),
      send_(end == End::kClient ? keys.client_to_server : keys.server_to_client),
      receive_(end == End::kClient ? keys.server_to_client : keys.client_to_server),
      limit_(limit),
      peer_(std::move(peer)) {}

void Channel::queue(FrameType type, std::span<const std::byte> payload) {
  send_.seal(type, payload, outgoing_);
}

void Channel::flush() noexcept {
  while (!flushed()) {
    const ssize_t count = ::send(socket_.get(), outgoing_.data() + sent_, outgoing_.size() - sent_,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count < 0) break;
    sent_ += static_cast<std::size_t>(count);
  }
  sent_ = 0;
  release(outgoing_);
}

std::optional<Frame> Channel::next() {
  if (auto frame = parse()) return frame;
  receive();
  auto frame = parse();
  if (!frame && hung_up_) ended_ = true;
  return frame;
}

void Channel::receive() {
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(parsed_));
  parsed_ = 0;
  if (incoming_.empty()) release(incoming_);
  std::array<std::byte, std::size_t{16} << 10> block;
  // Never much more than one frame's worth is held.
  while (!hung_up_ && incoming_.size() < limit_ + block.size()) {
    const ssize_t count = ::recv(socket_.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count <= 0) {
      hung_up_ = true;
      return;
    }
    incoming_.insert(incoming_.end(), block.begin(), block.begin() + count);
    if (count < static_cast<ssize_t>(block.size())) return;
  }
}

std::optional<Frame> Channel::parse() {
  const auto available = std::span<const std::byte>(incoming_).subspan(parsed_);
  if (available.size() < Sealer::kHeaderBytes) return std::nullopt;
  const auto length = receive_.open_header(available.first<Sealer::kHeaderBytes>());
  if (!length) {
    throw Error(
        ncclRemoteError,
        "The connection to {} carries bytes that do not verify: they were damaged or forged on "
        "the way",
        peer_);
  }
  if (*length > limit_ + 1 + Sealer::kTagBytes) {
    throw Error(ncclRemoteError, "{} sent a message of {} bytes where at most {} are expected",
                peer_, *length, limit_);
  }
  if (available.size() < Sealer::kHeaderBytes + *length) return std::nullopt;
  auto frame = receive_.open_body(available.subspan(Sealer::kHeaderBytes, *length));
  if (!frame) {
    throw Error(
        ncclRemoteError,
        "The connection to {} carries bytes that do not verify: they were damaged or forged on "
        "the way",
        peer_);
  }
  parsed_ += Sealer::kHeaderBytes + *length;
  return frame;
}

}  // namespace ripieno::bootstrap

// BLAKE2b from libsodium.
#include "bootstrap/keys.h"

#include <sodium.h>

#include <cstdint>

#include "base/error.h"

namespace ripieno::bootstrap {
namespace {

/// libsodium picks its implementations and opens its random source once.
void start_sodium() {
  static const int started = sodium_init();
  if (started < 0) throw Error(ncclSystemError, "libsodium found no source of randomness");
}

const unsigned char* raw_bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

void update(crypto_generichash_state& state, std::span<const std::byte> bytes) {
  const std::uint64_t length = bytes.size();
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&length),
                            sizeof(length));
  crypto_generichash_update(&state, raw_bytes(bytes), bytes.size());
}

}  // namespace

Key random_key() {
  start_sodium();
  Key key;
  randombytes_buf(key.data(), key.size());
  return key;
}

Key derive(const Key& key, std::string_view label,
           std::initializer_list<std::span<const std::byte>> parts) {
  start_sodium();
  crypto_generichash_state state;
  crypto_generichash_init(&state, raw_bytes(key), key.size(), std::tuple_size_v<Key>);
  update(state, std::as_bytes(std::span(label.data(), label.size())));
  for (const auto part : parts) update(state, part);
  Key result;
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(result.data()), result.size());
  return result;
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

SessionKeys session_keys(const Key& key, std::span<const std::byte> transcript) {
  return {.client_to_server = derive(key, "client to server", {transcript}),
          .server_to_client = derive(key, "server to client", {transcript})};
}

}  // namespace ripieno::bootstrap

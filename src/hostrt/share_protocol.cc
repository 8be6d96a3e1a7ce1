// Proofs, addresses and packets of the share protocol; see share_protocol.h.
#include "hostrt/share_protocol.h"

#include <sodium.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>

#include "hostrt/runtime.h"

namespace ripieno::hostrt::share {

void prepare_cryptography() {
  static const int outcome = sodium_init();
  if (outcome < 0)
    throw RuntimeError(cudaErrorInitializationError, "libsodium finds no source of randomness");
}

void fill_random(std::span<std::byte> bytes) {
  randombytes_buf(bytes.data(), bytes.size());
}

Proof prove(const Secret& secret, Role role, std::uint64_t id, const Nonce& client,
            const Nonce& server) {
  struct Statement {
    std::uint64_t role;
    std::uint64_t id;
    Nonce client;
    Nonce server;
  };
  const Statement statement{static_cast<std::uint64_t>(role), id, client, server};
  Proof proof;
  crypto_generichash(reinterpret_cast<unsigned char*>(proof.data()), proof.size(),
                     reinterpret_cast<const unsigned char*>(&statement), sizeof statement,
                     reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
  return proof;
}

bool equal(const Proof& left, const Proof& right) noexcept {
  return sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

Address::Address(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(),
              length);  // the leading NUL makes the name abstract
  bytes = static_cast<std::uint32_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  static_assert(sizeof address <= sizeof storage);
  std::memcpy(storage.data(), &address, sizeof address);
}

bool send_packet(int socket, std::span<const std::byte> packet, int fd_to_pass) noexcept {
  iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd_to_pass >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd_to_pass, sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(packet.size());
}

}  // namespace ripieno::hostrt::share

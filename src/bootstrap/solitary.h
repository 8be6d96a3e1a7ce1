// A communicator of one rank: everything is local.
#pragma once

#include <deque>
#include <map>

#include "base/error.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/keys.h"

namespace ripieno::bootstrap {

class Solitary final : public Bootstrap {
 public:
  Solitary() : secret_(random_key()) {
    const Key name = derive(secret_, "name");
    std::memcpy(&hash_, name.data(), sizeof(hash_));
  }

  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int ranks() const noexcept override { return 1; }
  [[nodiscard]] std::uint64_t hash() const noexcept override { return hash_; }
  [[nodiscard]] std::array<std::byte, 32> secret() const noexcept override { return secret_; }
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    return {mine.begin(), mine.end()};
  }
  void barrier() override {}

  void send(int peer, std::uint64_t tag, std::span<const std::byte> message) override {
    check(peer);
    mailbox_[tag].emplace_back(message.begin(), message.end());
  }
  [[nodiscard]] std::vector<std::byte> receive(int peer, std::uint64_t tag) override {
    check(peer);
    auto& messages = mailbox_[tag];
    if (messages.empty()) {
      throw Error(ncclInvalidUsage, "The only rank waits for a message {} that it has not sent",
                  tag);
    }
    std::vector<std::byte> message = std::move(messages.front());
    messages.pop_front();
    return message;
  }

 private:
  static void check(int peer) {
    if (peer != 0)
      throw Error(ncclInvalidArgument, "There is no rank {}; the only rank is 0", peer);
  }

  Key secret_;
  std::uint64_t hash_ = 0;
  std::map<std::uint64_t, std::deque<std::vector<std::byte>>> mailbox_;
};

}  // namespace ripieno::bootstrap

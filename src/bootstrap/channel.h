// An authenticated, encrypted stream of frames over a connected socket. It never blocks: frames are
// queued, and flush() and next() move what the socket takes and gives.
//
//     length (4) | tag of the length (8) | ciphertext of type and payload | tag (16)
//
// Both tags depend on a counter of the direction, so that a frame that was changed, repeated, left
// out or moved does not verify; the length has its own tag so that a changed length shows at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "bootstrap/keys.h"

namespace ripieno::bootstrap {

enum class FrameType : std::uint8_t {
  kJoin = 1,      ///< To the rendezvous: who I am.
  kWelcome = 2,   ///< From it: who your parent is.
  kFailure = 3,   ///< Result and sentence that end the communicator.
  kGather = 4,    ///< Up the tree: contributions of a subtree.
  kGathered = 5,  ///< Down the tree: all contributions.
  kMessage = 6,   ///< Tagged, between any two ranks.
  kBye = 7,       ///< The rank leaves in order.
};

struct Frame {
  FrameType type;
  std::vector<std::byte> payload;
};

/// Which end of a connection this is: the one that connected is the client.
enum class End : std::uint8_t { kClient, kServer };

/// One direction's keys and counter.
class Sealer {
 public:
  explicit Sealer(const Key& key);

  static constexpr std::size_t kHeaderBytes = 4 + 8;
  static constexpr std::size_t kTagBytes = 16;

  /// Appends the next frame to `out`.
  void seal(FrameType type, std::span<const std::byte> payload, std::vector<std::byte>& out);
  /// The length that follows the header; nothing if it does not verify.
  [[nodiscard]] std::optional<std::uint32_t> open_header(
      std::span<const std::byte, kHeaderBytes> header) const;
  /// The frame in the bytes after the header; nothing if they do not verify. Advances the counter.
  [[nodiscard]] std::optional<Frame> open_body(std::span<const std::byte> body);

 private:
  void header_tag(std::uint32_t length, std::span<std::byte, 8> tag) const;

  Key body_key_;
  std::array<std::byte, 16> header_key_{};
  std::uint64_t counter_ = 0;
};

class Channel {
 public:
  /// `limit`: most bytes of a frame that may come in. `peer` names the other end in errors.
  Channel(UniqueFd socket, const SessionKeys& keys, End end, std::size_t limit, std::string peer);

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

  void queue(FrameType type, std::span<const std::byte> payload);
  /// Sends what the socket takes. A broken connection drops the queue; the end shows in next().
  void flush() noexcept;
  [[nodiscard]] bool flushed() const noexcept { return sent_ == outgoing_.size(); }

  /// The next whole frame that has arrived, if any. Throws Error (ncclRemoteError) on bytes that do
  /// not verify or a frame over the limit.
  [[nodiscard]] std::optional<Frame> next();
  /// Whether the other end is gone and next() has given out all it sent.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  void receive();
  std::optional<Frame> parse();

  UniqueFd socket_;
  Sealer send_;
  Sealer receive_;
  std::size_t limit_;
  std::string peer_;
  std::vector<std::byte> outgoing_;
  std::size_t sent_ = 0;
  std::vector<std::byte> incoming_;
  std::size_t parsed_ = 0;
  bool hung_up_ = false;
  bool ended_ = false;
};

}  // namespace ripieno::bootstrap

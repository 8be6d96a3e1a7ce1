// Frames over a socket pair: what arrives is what was sent, or nothing is believed.
#include "bootstrap/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "base/error.h"

namespace ripieno::bootstrap {
namespace {

constexpr std::size_t kLimit = 1000;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

/// A channel at one end; the other end is the test's to write sealed bytes to.
struct Wire {
  SessionKeys keys{.client_to_server = random_key(), .server_to_client = random_key()};
  UniqueFd far;
  std::unique_ptr<Channel> channel;
  Sealer client{keys.client_to_server};

  Wire() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    far.reset(ends[0]);
    channel = std::make_unique<Channel>(UniqueFd(ends[1]), keys, End::kServer, kLimit, "the peer");
  }
  std::vector<std::byte> sealed(std::string_view text) {
    std::vector<std::byte> out;
    client.seal(FrameType::kMessage, bytes_of(text), out);
    return out;
  }
  void write(std::span<const std::byte> bytes) const {
    EXPECT_EQ(::send(far.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
};

TEST(Channel, DeliversFramesHoweverTheyAreCut) {
  Wire wire;
  auto all = wire.sealed("first");
  const auto second = wire.sealed("");
  const auto third = wire.sealed(std::string(900, 'x'));
  all.insert(all.end(), second.begin(), second.end());
  all.insert(all.end(), third.begin(), third.end());
  std::vector<std::vector<std::byte>> got;
  for (const std::byte& byte : all) {
    wire.write({&byte, 1});
    if (auto frame = wire.channel->next()) got.push_back(frame->payload);
  }
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0], bytes_of("first"));
  EXPECT_TRUE(got[1].empty());
  EXPECT_EQ(got[2], bytes_of(std::string(900, 'x')));
}

TEST(Channel, BelievesNoFrameWithAChangedBit) {
  const std::size_t length = Wire().sealed("a message").size();
  for (std::size_t byte = 0; byte < length; ++byte) {
    Wire wire;
    auto frame = wire.sealed("a message");
    frame[byte] ^= std::byte{0x20};
    wire.write(frame);
    EXPECT_THROW((void)wire.channel->next(), Error) << "byte " << byte;
  }
}

TEST(Channel, BelievesNoRepeatedOrReorderedOrMissingFrame) {
  Wire repeated;
  const auto frame = repeated.sealed("once");
  repeated.write(frame);
  repeated.write(frame);
  EXPECT_TRUE(repeated.channel->next());
  EXPECT_THROW((void)repeated.channel->next(), Error);

  Wire reordered;
  const auto first = reordered.sealed("one");
  reordered.write(reordered.sealed("two"));
  EXPECT_THROW((void)reordered.channel->next(), Error);
}

TEST(Channel, BelievesNothingOfAnotherSession) {
  Wire one;
  Wire other;
  other.write(one.sealed("hello"));
  EXPECT_THROW((void)other.channel->next(), Error);
}

TEST(Channel, BelievesNothingThatItSentItself) {
  Wire wire;
  Sealer server(wire.keys.server_to_client);
  std::vector<std::byte> out;
  server.seal(FrameType::kMessage, bytes_of("reflected"), out);
  wire.write(out);
  EXPECT_THROW((void)wire.channel->next(), Error);
}

TEST(Channel, RefusesFramesOverTheLimitBeforeReadingThem) {
  Wire wire;
  const auto frame = wire.sealed(std::string(kLimit + 1, 'x'));
  wire.write(std::span(frame).first(Sealer::kHeaderBytes));
  EXPECT_THROW((void)wire.channel->next(), Error);
}

TEST(Channel, GivesOutWhatCameBeforeTheEnd) {
  Wire wire;
  wire.write(wire.sealed("last words"));
  const auto cut_off = wire.sealed("cut off");
  wire.write(std::span(cut_off).first(9));
  wire.far.reset();
  const auto frame = wire.channel->next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload, bytes_of("last words"));
  EXPECT_FALSE(wire.channel->next());
  EXPECT_TRUE(wire.channel->ended());
}

TEST(Channel, TwoEndsTalk) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const SessionKeys keys{.client_to_server = random_key(), .server_to_client = random_key()};
  Channel client(UniqueFd(ends[0]), keys, End::kClient, std::size_t{8} << 20, "server");
  Channel server(UniqueFd(ends[1]), keys, End::kServer, std::size_t{8} << 20, "client");
  // Far more than the sockets' buffers hold.
  client.queue(FrameType::kMessage, std::vector<std::byte>(std::size_t{5} << 20, std::byte{7}));
  std::optional<Frame> frame;
  while (!frame) {
    client.flush();
    frame = server.next();
  }
  EXPECT_EQ(frame->payload.size(), std::size_t{5} << 20);
  server.queue(FrameType::kBye, {});
  server.flush();
  frame = client.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->type, FrameType::kBye);
}

}  // namespace
}  // namespace ripieno::bootstrap

// Every message comes back as it was, and no bytes at all upset a decoder.
#include "bootstrap/messages.h"

#include <gtest/gtest.h>

#include <random>

#include "bootstrap/handshake.h"
#include "bootstrap/unique_id.h"

namespace ripieno::bootstrap {
namespace {

const Address kAddress = *Address::parse("10.1.2.3", 456);

JoinRequest sample_request() {
  return {.version = "1.2.3",
          .kind = JoinRequest::Kind::kLeader,
          .rank = 4,
          .ranks = 9,
          .groups = 3,
          .group = 0,
          .ids = random_key(),
          .patience = std::chrono::milliseconds(1234),
          .listener = kAddress,
          .place = "host:77"};
}

TEST(Messages, JoinRequestComesBack) {
  const JoinRequest request = sample_request();
  const auto again = decode_join_request(encode(request));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->version, request.version);
  EXPECT_EQ(again->kind, request.kind);
  EXPECT_EQ(again->rank, request.rank);
  EXPECT_EQ(again->ranks, request.ranks);
  EXPECT_EQ(again->groups, request.groups);
  EXPECT_EQ(again->ids, request.ids);
  EXPECT_EQ(again->patience, request.patience);
  EXPECT_EQ(again->listener, request.listener);
  EXPECT_EQ(again->place, request.place);
}

TEST(Messages, TheVersionIsReadFromARequestOfAnotherShape) {
  auto bytes = encode(sample_request());
  bytes.resize(bytes.size() + 50);
  EXPECT_FALSE(decode_join_request(bytes));
  EXPECT_EQ(version_of_join_request(bytes), "1.2.3");
}

TEST(Messages, ImpossibleRequestsAreRefused) {
  const auto refused = [](auto change) {
    JoinRequest request = sample_request();
    change(request);
    return !decode_join_request(encode(request));
  };
  EXPECT_TRUE(refused([](JoinRequest& request) { request.rank = 9; }));
  EXPECT_TRUE(refused([](JoinRequest& request) { request.ranks = 0; }));
  EXPECT_TRUE(refused([](JoinRequest& request) { request.ranks = 0xffff'ffff; }));
  EXPECT_TRUE(refused([](JoinRequest& request) { request.groups = 0; }));
  EXPECT_TRUE(refused([](JoinRequest& request) { request.groups = 10; }));
  EXPECT_TRUE(refused([](JoinRequest& request) { request.group = 3; }));
  EXPECT_TRUE(refused([](JoinRequest& request) { request.listener = {}; }));
}

TEST(Messages, WelcomeFailureAndIntroductionComeBack) {
  const auto welcome = decode_welcome(encode(Welcome{.parent_rank = 3, .parent = kAddress}));
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->parent_rank, 3);
  EXPECT_EQ(welcome->parent, kAddress);
  EXPECT_TRUE(decode_welcome(encode(Welcome{})));
  EXPECT_FALSE(decode_welcome(encode(Welcome{.parent_rank = 3})));

  const auto failure =
      decode_failure(encode(Failure{.result = ncclInvalidUsage, .sentence = "why"}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result, ncclInvalidUsage);
  EXPECT_EQ(failure->sentence, "why");
  EXPECT_FALSE(decode_failure(encode(Failure{.result = ncclSuccess})));
  EXPECT_FALSE(decode_failure(encode(Failure{.result = static_cast<ncclResult_t>(15)})));

  const Introduction mine{.listener = kAddress, .direct_nonce = random_key(), .salt = random_key()};
  EXPECT_EQ(encode(mine).size(), Introduction::kEncodedBytes);
  const auto introduction = decode_introduction(encode(mine));
  ASSERT_TRUE(introduction);
  EXPECT_EQ(introduction->direct_nonce, mine.direct_nonce);
  EXPECT_EQ(introduction->salt, mine.salt);
}

TEST(Messages, GatherComesBackAndTornOnesAreRefused) {
  const std::array<std::byte, 6> bytes{std::byte{1}, std::byte{2}, std::byte{3},
                                       std::byte{4}, std::byte{5}, std::byte{6}};
  const Gather gather{.sequence = 12,
                      .size = 3,
                      .contributions = {{.rank = 7, .bytes = std::span(bytes).first(3)},
                                        {.rank = 2, .bytes = std::span(bytes).last(3)}}};
  auto encoded = encode(gather);
  const auto again = decode_gather(encoded);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sequence, 12U);
  ASSERT_EQ(again->contributions.size(), 2U);
  EXPECT_EQ(again->contributions[1].rank, 2U);
  EXPECT_EQ(again->contributions[1].bytes[2], std::byte{6});
  encoded.pop_back();
  EXPECT_FALSE(decode_gather(encoded));
}

TEST(Messages, UniqueIdComesBack) {
  const UniqueId id{.kind = UniqueId::Kind::kFixed, .address = kAddress, .secret = random_key()};
  const auto again = decode(encode(id));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, id.kind);
  EXPECT_EQ(again->address, id.address);
  EXPECT_EQ(again->secret, id.secret);
}

TEST(Messages, NoBytesUpsetADecoder) {
  std::mt19937 random(7);
  const std::vector<std::vector<std::byte>> seeds{
      encode(sample_request()), encode(Welcome{.parent_rank = 1, .parent = kAddress}),
      encode(Failure{.result = ncclRemoteError, .sentence = "text"}),
      encode(Introduction{.listener = kAddress})};
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = seeds[random() % seeds.size()];
    bytes.resize(random() % (bytes.size() + 20));
    for (unsigned change = random() % 6; change > 0 && !bytes.empty(); --change) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    (void)decode_join_request(bytes);
    (void)version_of_join_request(bytes);
    (void)decode_welcome(bytes);
    (void)decode_failure(bytes);
    (void)decode_gather(bytes);
    (void)decode_introduction(bytes);
    (void)decode_hello(bytes);
    if (!bytes.empty()) (void)may_be_hello(bytes);
  }
}

TEST(Hello, ComesBackAndStrangersAreRecognisedByTheirFirstBytes) {
  const Hello hello{.purpose = Purpose::kTree, .from = 3, .nonce = random_key()};
  const HelloBytes bytes = encode(hello);
  const auto again = decode_hello(bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->purpose, Purpose::kTree);
  EXPECT_EQ(again->from, 3U);
  EXPECT_EQ(again->nonce, hello.nonce);
  EXPECT_TRUE(may_be_hello(std::span(bytes).first(3)));
  const std::string_view http = "GET / HTTP/1.1";
  EXPECT_FALSE(may_be_hello(std::as_bytes(std::span(http.data(), 1))));
}

}  // namespace
}  // namespace ripieno::bootstrap

// Addresses that the user chooses: NCCL_COMM_ID, address families, port ranges.
#include <fmt/format.h>

#include "bootstrap/sockets.h"
#include "bootstrap/unique_id.h"
#include "company.h"

namespace ripieno::bootstrap::testing {
namespace {

/// A port that was free a moment ago.
std::uint16_t free_port(const char* address) {
  return listen_at(*Address::parse(address, 0), std::nullopt).address.port();
}

void expect_success(Processes& processes, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const Outcome outcome = processes.outcome(rank);
    EXPECT_EQ(outcome.result, ncclSuccess) << "rank " << rank << ": " << outcome.sentence;
  }
}

TEST(FixedId, EveryRankMakesTheIdAndNobodyPassesItOn) {
  constexpr int kRanks = 5;
  const std::string address = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  Processes processes(kRanks,
                      [](int rank, const ncclUniqueId& passed) {
                        const ncclUniqueId own = create_unique_id();
                        if (std::memcmp(&own, &passed, sizeof(own)) != 0)
                          throw Error(ncclInternalError, "ids differ");
                        // Rank 0, who will listen, comes last.
                        if (rank == 0) std::this_thread::sleep_for(milliseconds(50));
                        join_one(own, rank, kRanks)->barrier();
                      },
                      {{"NCCL_COMM_ID", address}});
  expect_success(processes, kRanks);
}

TEST(FixedId, ServesOneCommunicatorAfterTheOther) {
  const std::string address = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  Processes processes(3,
                      [](int rank, const ncclUniqueId& id) {
                        std::uint64_t last = 0;
                        for (int round = 0; round < 5; ++round) {
                          const auto bootstrap = join_one(id, rank, 3);
                          if (bootstrap->hash() == last)
                            throw Error(ncclInternalError, "the same secret twice");
                          last = bootstrap->hash();
                        }
                      },
                      {{"NCCL_COMM_ID", address}});
  expect_success(processes, 3);
}

TEST(FixedId, RepeatedInAListIsOneId) {
  const std::string address = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  Processes processes(
      4,
      [](int rank, const ncclUniqueId& id) {
        const std::vector<ncclUniqueId> ids(3, id);
        Cancellation never;
        join(ids, {.rank = rank, .ranks = 4}, milliseconds(20'000), never)->barrier();
      },
      {{"NCCL_COMM_ID", address}});
  expect_success(processes, 4);
}

TEST(FixedId, AddressOfAnotherHostIsRefusedAtRankZero) {
  Processes processes(
      1, [](int, const ncclUniqueId& id) { (void)join_one(id, 0, 2, milliseconds(2000)); },
      {{"NCCL_COMM_ID", "198.51.100.7:4242"}});
  const Outcome outcome = processes.outcome(0);
  EXPECT_EQ(outcome.result, ncclInvalidArgument);
  EXPECT_NE(outcome.sentence.find("not on this host"), std::string::npos) << outcome.sentence;
  EXPECT_NE(outcome.sentence.find("198.51.100.7:4242"), std::string::npos) << outcome.sentence;
}

TEST(FixedId, RankZeroThatNeverComesIsNamed) {
  const std::string address = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  Processes processes(
      1, [](int, const ncclUniqueId& id) { (void)join_one(id, 1, 2, milliseconds(200)); },
      {{"NCCL_COMM_ID", address}});
  const Outcome outcome = processes.outcome(0);
  EXPECT_EQ(outcome.result, ncclRemoteError);
  EXPECT_NE(outcome.sentence.find("rank 0 is to listen there"), std::string::npos)
      << outcome.sentence;
}

TEST(FixedId, TextsThatAreNoAddressAreRefused) {
  for (const char* text : {"nonsense", "host", "1.2.3.4", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:70000",
                           "1.2.3.4:80x", "::1:80", "[::1]", "[::1]80", ":80", ""}) {
    EXPECT_THROW((void)fixed_id(text, std::nullopt), Error) << text;
  }
  EXPECT_EQ(fixed_id("10.1.2.3:80", std::nullopt).address.to_string(), "10.1.2.3:80");
  EXPECT_EQ(fixed_id("[::1]:80", std::nullopt).address.to_string(), "[::1]:80");
  EXPECT_EQ(fixed_id("localhost:80", Family::kV4).address.to_string(), "127.0.0.1:80");
}

TEST(AddressFamily, ThreeRanksMeetOverIPv6Loopback) {
  Processes processes(3,
                      [](int rank, const ncclUniqueId& id) {
                        if (decode(id)->address.family() != Family::kV6)
                          throw Error(ncclInternalError, "not IPv6");
                        join_one(id, rank, 3)->barrier();
                      },
                      {{"NCCL_SOCKET_IFNAME", "lo"}, {"NCCL_SOCKET_FAMILY", "AF_INET6"}});
  expect_success(processes, 3);
}

TEST(Interface, ThatIsNotThereIsRefusedWithAListOfThoseThatAre) {
  Processes processes(1, [](int, const ncclUniqueId&) {}, {{"NCCL_SOCKET_IFNAME", "nosuch"}});
  const Outcome outcome = processes.outcome(0);
  EXPECT_EQ(outcome.result, ncclInvalidUsage);
  EXPECT_NE(outcome.sentence.find("nosuch"), std::string::npos) << outcome.sentence;
  EXPECT_NE(outcome.sentence.find("lo ("), std::string::npos) << outcome.sentence;
}

TEST(PortRange, IsHonouredByEveryListener) {
  // Room for the rendezvous and three ranks.
  Processes processes(3,
                      [](int rank, const ncclUniqueId& id) {
                        const std::uint16_t port = decode(id)->address.port();
                        if (port < 42'310 || port > 42'316)
                          throw Error(ncclInternalError, "port {}", port);
                        join_one(id, rank, 3)->barrier();
                      },
                      {{"RIPIENO_PORT_RANGE", "42310-42316"}, {"NCCL_SOCKET_IFNAME", "lo"}});
  expect_success(processes, 3);
}

TEST(PortRange, ThatIsFullIsNamed) {
  const Address loopback = *Address::parse("127.0.0.1", 0);
  const Listener taken = listen_at(loopback, std::nullopt);
  const PortRange range{.first = taken.address.port(), .last = taken.address.port()};
  try {
    (void)listen_at(loopback, range);
    FAIL() << "the port was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclSystemError);
    EXPECT_NE(std::string(error.what()).find("RIPIENO_PORT_RANGE"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace ripieno::bootstrap::testing

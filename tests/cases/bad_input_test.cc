// Arguments that are wrong by themselves: the right code, a sentence that names the argument, its
// value and what is valid, and a communicator that works as before.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "cases/simple.h"

namespace ripieno::test {
namespace {

TEST(BadInput, NullWhereAnAnswerGoes) {
  run_with_communicators(in_threads(1), [](Party& party) {
    ncclComm_t const comm = party.rank().comm;
    int scalar = 1;
    ncclRedOp_t operation{};
    ncclUniqueId id{};
    const auto refused = [](ncclResult_t result, const char* function, const char* argument) {
      expect_refused(result, ncclInvalidArgument, {function, argument, "NULL"});
    };
    refused(ncclGetVersion(nullptr), "ncclGetVersion", "version");
    refused(ncclGetUniqueId(nullptr), "ncclGetUniqueId", "uniqueId");
    refused(ncclCommInitRank(nullptr, 1, id, 0), "ncclCommInitRank", "comm");
    refused(ncclCommInitRankConfig(nullptr, 1, id, 0, nullptr), "ncclCommInitRankConfig", "comm");
    refused(ncclCommInitAll(nullptr, 1, nullptr), "ncclCommInitAll", "comm");
    refused(ncclCommInitRankScalable(nullptr, 1, 0, 1, &id, nullptr), "ncclCommInitRankScalable",
            "comm");
    ncclComm_t made = nullptr;
    refused(ncclCommInitRankScalable(&made, 1, 0, 1, nullptr, nullptr), "ncclCommInitRankScalable",
            "commIds");
    refused(ncclCommCount(comm, nullptr), "ncclCommCount", "count");
    refused(ncclCommCuDevice(comm, nullptr), "ncclCommCuDevice", "device");
    refused(ncclCommUserRank(comm, nullptr), "ncclCommUserRank", "rank");
    refused(ncclCommGetAsyncError(comm, nullptr), "ncclCommGetAsyncError", "asyncError");
    refused(ncclMemAlloc(nullptr, 8), "ncclMemAlloc", "ptr");
    refused(ncclRedOpCreatePreMulSum(nullptr, &scalar, ncclInt32, ncclScalarHostImmediate, comm),
            "ncclRedOpCreatePreMulSum", "op");
    refused(ncclRedOpCreatePreMulSum(&operation, nullptr, ncclInt32, ncclScalarHostImmediate, comm),
            "ncclRedOpCreatePreMulSum", "scalar");
    expect_working(party);
  });
}

TEST(BadInput, NullThatIsFine) {
  run_ranks(in_threads(1), [](Party&) {
    check(ncclCommFinalize(nullptr));
    check(ncclCommDestroy(nullptr));
    check(ncclCommAbort(nullptr));
    check(ncclMemFree(nullptr));
    EXPECT_NE(ncclGetLastError(nullptr), nullptr);
    EXPECT_STRNE(ncclGetErrorString(static_cast<ncclResult_t>(99)), "");
  });
}

/// Every call that takes a communicator, with `comm` in its place.
void expect_all_refuse(ncclComm_t comm, std::string_view part) {
  std::array<std::int32_t, 4> data{};
  int number = 0;
  ncclResult_t error{};
  ncclRedOp_t operation{};
  const auto refused = [part](const char* function, ncclResult_t result) {
    expect_refused(result, ncclInvalidArgument, {function, part});
  };
  void* const buffer = data.data();
  constexpr ncclDataType_t kType = ncclInt32;
  refused("ncclCommCount", ncclCommCount(comm, &number));
  refused("ncclCommCuDevice", ncclCommCuDevice(comm, &number));
  refused("ncclCommUserRank", ncclCommUserRank(comm, &number));
  refused("ncclCommGetAsyncError", ncclCommGetAsyncError(comm, &error));
  refused("ncclAllReduce", ncclAllReduce(buffer, buffer, 1, kType, ncclSum, comm, nullptr));
  refused("ncclReduce", ncclReduce(buffer, buffer, 1, kType, ncclSum, 0, comm, nullptr));
  refused("ncclBroadcast", ncclBroadcast(buffer, buffer, 1, kType, 0, comm, nullptr));
  refused("ncclBcast", ncclBcast(buffer, 1, kType, 0, comm, nullptr));
  refused("ncclAllGather", ncclAllGather(buffer, buffer, 1, kType, comm, nullptr));
  refused("ncclReduceScatter", ncclReduceScatter(buffer, buffer, 1, kType, ncclSum, comm, nullptr));
  refused("ncclAlltoAll", ncclAlltoAll(buffer, buffer, 1, kType, comm, nullptr));
  refused("ncclGather", ncclGather(buffer, buffer, 1, kType, 0, comm, nullptr));
  refused("ncclScatter", ncclScatter(buffer, buffer, 1, kType, 0, comm, nullptr));
  refused("ncclSend", ncclSend(buffer, 1, kType, 0, comm, nullptr));
  refused("ncclRecv", ncclRecv(buffer, 1, kType, 0, comm, nullptr));
  refused("ncclRedOpCreatePreMulSum",
          ncclRedOpCreatePreMulSum(&operation, buffer, kType, ncclScalarHostImmediate, comm));
  refused("ncclRedOpDestroy", ncclRedOpDestroy(operation, comm));
}

TEST(BadInput, CommunicatorsThatAreNone) {
  run_ranks(in_threads(1), [](Party& party) {
    expect_all_refuse(nullptr, "comm is NULL");
    std::array<char, 4096> garbage{};
    expect_all_refuse(reinterpret_cast<ncclComm_t>(garbage.data()), "not a live communicator");
    expect_all_refuse(reinterpret_cast<ncclComm_t>(0x1234), "not a live communicator");
    party.init();
    ncclComm_t const comm = party.rank().comm;
    party.destroy();
    expect_all_refuse(comm, "already destroyed");
    expect_refused(ncclCommDestroy(reinterpret_cast<ncclComm_t>(0x1234)), ncclInvalidArgument,
                   {"0x1234"});
  });
}

TEST(BadInput, RanksAndNumbersOfRanks) {
  run_ranks(in_threads(1), [](Party& party) {
    const ncclUniqueId id = party.id(0);
    ncclComm_t comm = nullptr;
    expect_refused(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument,
                   {"nranks", "0", "at least 1"});
    expect_refused(ncclCommInitRank(&comm, -3, id, 0), ncclInvalidArgument, {"nranks", "-3"});
    expect_refused(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument, {"rank is 2", "0 to 1"});
    expect_refused(ncclCommInitRank(&comm, 2, id, -1), ncclInvalidArgument,
                   {"rank is -1", "0 to 1"});
    ncclUniqueId ids = id;
    for (const int wrong : {0, -1, 3}) {
      expect_refused(ncclCommInitRankScalable(&comm, 2, 0, wrong, &ids, nullptr),
                     ncclInvalidArgument, {"nId", std::to_string(wrong), "1 to nranks"});
    }
    std::array<ncclComm_t, 4> comms{};
    expect_refused(ncclCommInitAll(comms.data(), -1, nullptr), ncclInvalidArgument, {"ndev", "-1"});
    const std::array<int, 2> devices = {0, 1000};
    expect_refused(ncclCommInitAll(comms.data(), 2, devices.data()), ncclInvalidArgument,
                   {"1000", "0 to "});
    EXPECT_EQ(comm, nullptr);
  });
}

TEST(BadInput, TypesOperatorsAndCounts) {
  run_with_communicators(in_threads(1), [](Party& party) {
    const auto [number, device, comm, stream] = party.rank();
    const Buffer buffer(MemoryKind::kDevice, 64, stream);
    void* const data = buffer.data();
    for (const int wrong : {-1, static_cast<int>(ncclNumTypes), 99}) {
      const auto type = static_cast<ncclDataType_t>(wrong);
      expect_refused(ncclAllReduce(data, data, 1, type, ncclSum, comm, stream), ncclInvalidArgument,
                     {"datatype", std::to_string(wrong), "0 to 11"});
      expect_refused(ncclSend(data, 1, type, 0, comm, stream), ncclInvalidArgument, {"datatype"});
      ncclRedOp_t operation{};
      expect_refused(
          ncclRedOpCreatePreMulSum(&operation, data, type, ncclScalarHostImmediate, comm),
          ncclInvalidArgument, {"datatype", "0 to 11"});
    }
    for (const int wrong :
         {-1, static_cast<int>(ncclNumOps), 6, 0x12345, static_cast<int>(ncclMaxRedOp)}) {
      expect_refused(
          ncclAllReduce(data, data, 1, ncclInt8, static_cast<ncclRedOp_t>(wrong), comm, stream),
          ncclInvalidArgument, {"operator", "0 to 4"});
    }
    for (const std::size_t count :
         {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 62}) {
      expect_refused(ncclAllReduce(data, data, count, ncclFloat64, ncclSum, comm, stream),
                     ncclInvalidArgument, {"count", std::to_string(count)});
    }
    expect_working(party);
  });
}

TEST(BadInput, OperatorsOfTheUser) {
  run_with_communicators(in_threads(1), [](Party& party) {
    const auto [number, device, comm, stream] = party.rank();
    ncclComm_t const other = party.make_communicators(1).front();
    const Buffer buffer(MemoryKind::kDevice, 64, stream);
    void* const data = buffer.data();
    float scalar = 2;
    ncclRedOp_t operation{};
    expect_refused(ncclRedOpCreatePreMulSum(&operation, &scalar, ncclFloat32,
                                            static_cast<ncclScalarResidence_t>(2), comm),
                   ncclInvalidArgument, {"residence", "2"});
    check(
        ncclRedOpCreatePreMulSum(&operation, &scalar, ncclFloat32, ncclScalarHostImmediate, comm));
    check(ncclAllReduce(data, data, 1, ncclFloat32, operation, comm, stream));
    expect_refused(ncclAllReduce(data, data, 1, ncclFloat64, operation, comm, stream),
                   ncclInvalidArgument, {"float32", "float64"});
    expect_refused(ncclAllReduce(data, data, 1, ncclFloat32, operation, other, stream),
                   ncclInvalidArgument, {"operator"});
    expect_refused(ncclRedOpDestroy(operation, other), ncclInvalidArgument, {"operator"});
    expect_refused(ncclRedOpDestroy(ncclSum, comm), ncclInvalidArgument, {"built in"});
    expect_refused(ncclRedOpDestroy(static_cast<ncclRedOp_t>(ncclNumOps), comm),
                   ncclInvalidArgument, {"operator"});
    check(ncclRedOpDestroy(operation, comm));
    expect_refused(ncclRedOpDestroy(operation, comm), ncclInvalidArgument, {"operator"});
    expect_refused(ncclAllReduce(data, data, 1, ncclFloat32, operation, comm, stream),
                   ncclInvalidArgument, {"operator"});
    check(ncclCommDestroy(other));
    expect_working(party);
  });
}

TEST(BadInput, GarbageConfigsAndIds) {
  run_ranks(in_threads(1), [](Party& party) {
    const ncclUniqueId id = party.id(0);
    ncclComm_t comm = nullptr;
    ncclConfig_t config{};
    expect_refused(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument,
                   {"config.size", "NCCL_CONFIG_INITIALIZER"});
    std::memset(&config, 0xA5, sizeof config);
    expect_refused(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument,
                   {"config.magic", "NCCL_CONFIG_INITIALIZER"});
    struct Wrong {
      int ncclConfig_t::*field;
      int value;
      const char* name;
    };
    for (const Wrong& wrong :
         {Wrong{&ncclConfig_t::minCTAs, 0, "minCTAs"}, Wrong{&ncclConfig_t::maxCTAs, -4, "maxCTAs"},
          Wrong{&ncclConfig_t::splitShare, 2, "splitShare"},
          Wrong{&ncclConfig_t::cgaClusterSize, -1, "cgaClusterSize"},
          Wrong{&ncclConfig_t::collnetEnable, 7, "collnetEnable"},
          Wrong{&ncclConfig_t::CTAPolicy, 4, "CTAPolicy"},
          Wrong{&ncclConfig_t::shrinkShare, -1, "shrinkShare"},
          Wrong{&ncclConfig_t::nChannelsPerNetPeer, 65, "nChannelsPerNetPeer"},
          Wrong{&ncclConfig_t::nvlinkCentricSched, 2, "nvlinkCentricSched"}}) {
      config = NCCL_CONFIG_INITIALIZER;
      config.*wrong.field = wrong.value;
      expect_refused(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument,
                     {wrong.name, std::to_string(wrong.value)});
    }
    const ncclUniqueId zeros{};
    expect_refused(ncclCommInitRank(&comm, 1, zeros, 0), ncclInvalidArgument, {"id"});
    ncclUniqueId noise;
    std::memset(&noise, 0x5A, sizeof noise);
    expect_refused(ncclCommInitRank(&comm, 2, noise, 1), ncclInvalidArgument, {"id"});
    EXPECT_EQ(comm, nullptr);
  });
}

TEST(BadInput, GroupsThatDoNotPairUp) {
  run_with_communicators(in_threads(1), [](Party& party) {
    const auto [number, device, comm, stream] = party.rank();
    expect_refused(ncclGroupEnd(), ncclInvalidUsage, {"ncclGroupStart"});
    const Buffer buffer(MemoryKind::kDevice, 64, stream);
    expect_refused(ncclSend(buffer.data(), 1, ncclInt8, 0, comm, stream), ncclInvalidUsage,
                   {"itself"});
    check(ncclGroupStart());
    check(ncclRecv(buffer.data(), 1, ncclInt8, 0, comm, stream));
    expect_refused(ncclGroupEnd(), ncclInvalidUsage, {"itself"});
    // What failed inside comes again at the end.
    check(ncclGroupStart());
    EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 1, ncclInt8, ncclSum, comm, stream),
              ncclInvalidArgument);
    check(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt8, ncclSum, comm, stream));
    expect_refused(ncclGroupEnd(), ncclInvalidArgument, {"sendbuff"});
    expect_working(party);
  });
}

TEST(BadInput, ModesMixedInAGroup) {
  run_with_communicators(in_threads(1), [](Party& party) {
    const auto [number, device, comm, stream] = party.rank();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t other = nullptr;
    ncclUniqueId id;
    check(ncclGetUniqueId(&id));
    EXPECT_EQ(ncclCommInitRankConfig(&other, 1, id, 0, &config), ncclInProgress);
    EXPECT_EQ(outcome(other), ncclSuccess);
    const Buffer buffer(MemoryKind::kDevice, 64, stream);
    check(ncclGroupStart());
    for (ncclComm_t each : {comm, other}) {
      check(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt8, ncclSum, each, stream));
    }
    expect_refused(ncclGroupEnd(), ncclInvalidArgument, {"blocking"});
    check(ncclCommDestroy(other));
    expect_working(party);
  });
}

}  // namespace
}  // namespace ripieno::test

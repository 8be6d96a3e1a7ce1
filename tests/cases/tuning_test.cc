// What users say about algorithms, seen through the library: variables, plugins, simulation, and
// the files and lines that tell how a communicator sees its machine.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cases/simple.h"

namespace ripieno::test {
namespace {

std::string plugin(int version) {
  return std::string("NCCL_TUNER_PLUGIN=") + RIPIENO_TEST_PLUGINS + "/libripieno_test_tuner_v" +
         std::to_string(version) + ".so";
}

/// The estimate of an all-reduce of `count` floats on this rank.
float simulated(Party& party, std::size_t count) {
  Rank& rank = party.rank();
  const Buffer data = buffer_of(std::vector<float>(count, 1.0F), rank.stream);
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  check(ncclGroupStart());
  check(
      ncclAllReduce(data.data(), data.data(), count, ncclFloat32, ncclSum, rank.comm, rank.stream));
  check(ncclGroupSimulateEnd(&info));
  party.synchronize();
  EXPECT_EQ(data.download_as<float>(), std::vector<float>(count, 1.0F)) << "nothing may have run";
  return info.estimatedTime;
}

TEST(Tuning, Case122APluginsCellThatCannotRunIsIgnored) {
  // Cell "NVLS" of a machine that has none, at no cost.
  for (const int version : {2, 3, 4, 5}) {
    run_with_communicators(in_processes(2), [](Party& party) { expect_working(party); },
                           {.environment = {plugin(version), "RIPIENO_TEST_TUNER=choose 4 2 0"}});
  }
}

TEST(Tuning, Case122VariablesWinOverAPlugin) {
  // The plugin wants one-shot; the sizes include those that one-shot cannot carry.
  run_with_communicators(in_processes(3),
                         [](Party& party) {
                           for (const std::size_t count : {1U, 1000U, 100'000U})
                             expect_working(party, count);
                         },
                         {.environment = {plugin(5), "RIPIENO_TEST_TUNER=choose 8 0 0",
                                          "NCCL_ALGO=direct", "NCCL_PROTO=^LL"}});
}

TEST(Tuning, EveryChoiceComputesTheSame) {
  for (const char* choice : {"choose 7 2 0", "choose 8 0 0", "nonsense", "fail", "refuse"}) {
    run_with_communicators(
        in_threads(3),
        [](Party& party) {
          for (const std::size_t count : {1U, 1000U, 100'000U}) expect_working(party, count);
        },
        {.environment = {plugin(4), std::string("RIPIENO_TEST_TUNER=") + choice}});
  }
}

TEST(Tuning, AWordThatDoesNotExistIsRefusedAtInit) {
  run_ranks(in_threads(1),
            [](Party& party) {
              ncclComm_t comm = nullptr;
              expect_refused(ncclCommInitRank(&comm, 1, party.id(0), 0), ncclInvalidUsage,
                             {"NCCL_ALGO", "rign", "Ring"});
            },
            {.environment = {"NCCL_ALGO=rign"}});
}

TEST(Tuning, WhatCannotRunHereIsIgnored) {
  run_with_communicators(in_threads(2), [](Party& party) { expect_working(party); },
                         {.environment = {"NCCL_ALGO=Ring", "NCCL_PROTO=LL128"}});
}

TEST(Tuning, RanksThatWereToldOtherwiseSaySoAtInit) {
  run_ranks(in_processes(2), [](Party& party) {
    if (party.process() == 1) setenv("NCCL_ALGO", "direct", 1);
    ncclComm_t comm = nullptr;
    expect_refused(ncclCommInitRank(&comm, 2, party.id(0), party.rank().number), ncclInvalidUsage,
                   {"rank 1", "NCCL_ALGO", "same on all ranks"});
  });
}

TEST(Tuning, SimulationAnswersFromTheModelAndRunsNothing) {
  run_with_communicators(in_threads(2), [](Party& party) {
    const float small = simulated(party, 16);
    const float large = simulated(party, 1 << 20);
    EXPECT_GT(small, 0.0F);
    EXPECT_GT(large, 10.0F * small);
    expect_working(party);
  });
}

TEST(Tuning, SimulationRefusesWhatMakesNoSense) {
  run_with_communicators(in_threads(1), [](Party& party) {
    expect_refused(ncclGroupSimulateEnd(nullptr), ncclInvalidUsage, {"no open group"});
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    info.magic = 1;
    check(ncclGroupStart());
    expect_refused(ncclGroupSimulateEnd(&info), ncclInvalidArgument, {"magic"});
    check(ncclGroupSimulateEnd(nullptr));
    expect_working(party);
  });
}

TEST(Tuning, InitWritesTopologyAndGraphs) {
  const std::string folder = testing::TempDir() + "ripieno_dumps_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  run_with_communicators(in_processes(2), [](Party& party) { expect_working(party); },
                         {.environment = {"NCCL_TOPO_DUMP_FILE=" + folder + "/topo.xml",
                                          "NCCL_GRAPH_DUMP_FILE=" + folder + "/graphs.xml"}});
  EXPECT_GT(std::filesystem::file_size(folder + "/topo.xml"), 100U);
  EXPECT_GT(std::filesystem::file_size(folder + "/graphs.xml"), 100U);
  // What was written can be read again.
  run_with_communicators(in_processes(2), [](Party& party) { expect_working(party); },
                         {.environment = {"NCCL_TOPO_FILE=" + folder + "/topo.xml",
                                          "NCCL_GRAPH_FILE=" + folder + "/graphs.xml"}});
  std::filesystem::remove_all(folder);
}

TEST(Tuning, AFolderThatIsNotThereFailsNoInit) {
  run_with_communicators(in_threads(2), [](Party& party) { expect_working(party); },
                         {.environment = {"NCCL_TOPO_DUMP_FILE=/nowhere/topo.xml",
                                          "NCCL_GRAPH_DUMP_FILE=/nowhere/graphs.xml"}});
}

TEST(Tuning, Case112AGraphFileThatDoesNotFitIsNamed) {
  const std::string file = testing::TempDir() + "ripieno_graphs_" + std::to_string(getpid());
  run_with_communicators(in_threads(2), [](Party&) {},
                         {.environment = {"NCCL_GRAPH_DUMP_FILE=" + file}});
  // Written for two devices; now there is one.
  run_ranks(in_threads(1),
            [](Party& party) {
              ncclComm_t comm = nullptr;
              expect_refused(ncclCommInitRank(&comm, 1, party.id(0), 0), ncclInvalidUsage,
                             {"NCCL_GRAPH_FILE", "ripieno_graphs_", "environment"});
            },
            {.environment = {"NCCL_GRAPH_FILE=" + file}});
  std::filesystem::remove(file);
}

TEST(Tuning, RingsAndTreesAreLogged) {
  const LogFiles logs("graphs");
  std::vector<std::string> environment = logs.environment();
  environment.insert(environment.end(), {"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=GRAPH,INIT"});
  // Four ranks on two devices: those of a device stand beside each other.
  Placement placement = in_processes(4);
  placement.devices = 2;
  run_with_communicators(
      placement,
      [](Party& party) {
        EXPECT_TRUE(LogFiles::has_line({"Ring 00 : "})) << LogFiles::own_text();
        EXPECT_TRUE(LogFiles::has_line({"Trees [0] "}));
        EXPECT_TRUE(LogFiles::has_line({"coll channels"}));
        if (party.rank().number == 0) {
          EXPECT_TRUE(LogFiles::has_line({"Channel 00/", " : 0 2 1 3"})) << LogFiles::own_text();
          EXPECT_TRUE(LogFiles::has_line({"Pattern ring"}));
        }
        party.barrier();
        LogFiles::remove_own();
      },
      {.environment = environment});
}

}  // namespace
}  // namespace ripieno::test

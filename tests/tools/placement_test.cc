// What the variables of launchers mean.
#include "perf/placement.h"

#include <gtest/gtest.h>

#include <map>

#include "command.h"

namespace ripieno::tool::perf {
namespace {

Placement place(const std::map<std::string, std::string>& variables) {
  return placement_from([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Placement, IsAloneWithoutALauncher) {
  const Placement placement = place({});
  EXPECT_EQ(placement.processes, 1);
  EXPECT_EQ(placement.process, 0);
}

TEST(Placement, KnowsOpenMpi) {
  const Placement placement = place({{"OMPI_COMM_WORLD_RANK", "5"},
                                     {"OMPI_COMM_WORLD_SIZE", "8"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                     {"OMPI_MCA_ess_base_jobid", "77"}});
  EXPECT_EQ(placement.process, 5);
  EXPECT_EQ(placement.processes, 8);
  EXPECT_EQ(placement.local_process, 1);
  EXPECT_FALSE(placement.one_host);
  EXPECT_EQ(placement.job, "77");
}

TEST(Placement, KnowsPmi) {
  const Placement placement = place({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}});
  EXPECT_EQ(placement.process, 2);
  EXPECT_EQ(placement.processes, 3);
  EXPECT_TRUE(placement.one_host);
}

TEST(Placement, KnowsSlurmStepsButNotItsBatchScripts) {
  const Placement placement = place({{"SLURM_PROCID", "3"},
                                     {"SLURM_STEP_NUM_TASKS", "4"},
                                     {"SLURM_LOCALID", "1"},
                                     {"SLURM_STEP_NUM_NODES", "2"},
                                     {"SLURM_JOB_ID", "9"},
                                     {"SLURM_STEP_ID", "2"}});
  EXPECT_EQ(placement.process, 3);
  EXPECT_FALSE(placement.one_host);
  EXPECT_EQ(placement.job, "slurm-9.2");
  EXPECT_EQ(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).processes, 1);
}

TEST(Placement, KnowsTorchrun) {
  const Placement placement = place({{"RANK", "1"},
                                     {"WORLD_SIZE", "2"},
                                     {"LOCAL_RANK", "1"},
                                     {"MASTER_ADDR", "127.0.0.1"},
                                     {"MASTER_PORT", "29500"}});
  EXPECT_EQ(placement.process, 1);
  EXPECT_EQ(placement.processes, 2);
  EXPECT_EQ(placement.master_address, "127.0.0.1");
  EXPECT_EQ(placement.master_port, 29500);
  EXPECT_EQ(place({{"RANK", "1"}, {"WORLD_SIZE", "2"}}).processes, 1);
}

TEST(Placement, RefusesNonsense) {
  EXPECT_THROW(place({{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}}), UsageError);
  EXPECT_THROW(place({{"PMI_RANK", "-1"}, {"PMI_SIZE", "3"}}), UsageError);
  EXPECT_THROW(place({{"PMI_RANK", "one"}, {"PMI_SIZE", "3"}}), UsageError);
}

}  // namespace
}  // namespace ripieno::tool::perf

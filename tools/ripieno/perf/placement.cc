// Variables of the launchers.
#include "perf/placement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "command.h"

namespace ripieno::tool::perf {
namespace {

std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, fault] = std::from_chars(text, end, value);
  if (fault != std::errc{} || stop != end) {
    throw UsageError(fmt::format("{} is '{}', which is no number", name, text));
  }
  return value;
}

std::string text_or(const Environment& environment, const char* name, std::string fallback) {
  const char* text = environment(name);
  return text == nullptr || *text == '\0' ? std::move(fallback) : text;
}

/// The processes of one mpirun have one parent on a host, whatever the flavour.
std::string parent_job() {
  return fmt::format("parent-{}", ::getppid());
}

std::optional<Placement> from_open_mpi(const Environment& environment) {
  const auto rank = number(environment, "OMPI_COMM_WORLD_RANK");
  const auto size = number(environment, "OMPI_COMM_WORLD_SIZE");
  if (!rank || !size) return std::nullopt;
  Placement placement;
  placement.process = *rank;
  placement.processes = *size;
  placement.local_process = number(environment, "OMPI_COMM_WORLD_LOCAL_RANK").value_or(*rank);
  placement.one_host = number(environment, "OMPI_COMM_WORLD_LOCAL_SIZE").value_or(*size) == *size;
  placement.launcher = "mpirun";
  placement.job = text_or(environment, "OMPI_MCA_ess_base_jobid",
                          text_or(environment, "PMIX_NAMESPACE", parent_job()));
  return placement;
}

std::optional<Placement> from_pmi(const Environment& environment) {
  const auto rank = number(environment, "PMI_RANK");
  const auto size = number(environment, "PMI_SIZE");
  if (!rank || !size) return std::nullopt;
  Placement placement;
  placement.process = *rank;
  placement.processes = *size;
  placement.local_process = number(environment, "MPI_LOCALRANKID").value_or(*rank);
  placement.one_host = number(environment, "MPI_LOCALNRANKS").value_or(*size) == *size;
  placement.launcher = "mpirun";
  placement.job = parent_job();
  return placement;
}

/// Only inside a step: a batch script has SLURM_NTASKS too, but is one process.
std::optional<Placement> from_slurm(const Environment& environment) {
  const auto rank = number(environment, "SLURM_PROCID");
  const auto size = number(environment, "SLURM_STEP_NUM_TASKS");
  if (!rank || !size) return std::nullopt;
  Placement placement;
  placement.process = *rank;
  placement.processes = *size;
  placement.local_process = number(environment, "SLURM_LOCALID").value_or(*rank);
  placement.one_host = number(environment, "SLURM_STEP_NUM_NODES").value_or(1) == 1;
  placement.launcher = "srun";
  placement.job = fmt::format("slurm-{}.{}", text_or(environment, "SLURM_JOB_ID", "0"),
                              text_or(environment, "SLURM_STEP_ID", "0"));
  return placement;
}

std::optional<Placement> from_torchrun(const Environment& environment) {
  const auto rank = number(environment, "RANK");
  const auto size = number(environment, "WORLD_SIZE");
  if (!rank || !size || environment("MASTER_ADDR") == nullptr) return std::nullopt;
  Placement placement;
  placement.process = *rank;
  placement.processes = *size;
  placement.local_process = number(environment, "LOCAL_RANK").value_or(*rank);
  placement.one_host = number(environment, "LOCAL_WORLD_SIZE").value_or(0) == *size;
  placement.launcher = "torchrun";
  placement.job = text_or(environment, "TORCHELASTIC_RUN_ID", parent_job());
  return placement;
}

}  // namespace

Placement placement_from(const Environment& environment) {
  std::optional<Placement> found = from_open_mpi(environment);
  if (!found) found = from_pmi(environment);
  if (!found) found = from_slurm(environment);
  if (!found) found = from_torchrun(environment);
  if (!found) return {};
  if (found->processes < 1 || found->process < 0 || found->process >= found->processes) {
    throw UsageError(fmt::format("{} says that this is process {} of {}, which cannot be",
                                 found->launcher, found->process, found->processes));
  }
  if (const char* address = environment("MASTER_ADDR"); address != nullptr && *address != '\0') {
    found->master_address = address;
    found->master_port = number(environment, "MASTER_PORT").value_or(0);
  }
  return *found;
}

}  // namespace ripieno::tool::perf

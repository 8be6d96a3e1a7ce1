#include "comm/landscape.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#include "comm/survey.h"

namespace ripieno::comm {
namespace {

constexpr SizeParameter kOneShotBytes{"RIPIENO_ONE_SHOT_BYTES"};
constexpr StringParameter kGraphFile{"NCCL_GRAPH_FILE"};

void require_equal_settings(std::span<const connect::PeerInfo> peers) {
  const auto other = std::find_if(peers.begin(), peers.end(), [&](const connect::PeerInfo& peer) {
    return peer.tuning != peers.front().tuning;
  });
  if (other == peers.end()) return;
  throw Error(ncclInvalidUsage,
              "rank {} (process {}) was told to choose algorithms otherwise than rank 0 (process "
              "{}): NCCL_ALGO, NCCL_PROTO, RIPIENO_ONE_SHOT_BYTES and the contents of "
              "RIPIENO_TUNING_FILE must be the same on all ranks",
              other - peers.begin(), other->process_id, peers.front().process_id);
}

/// A machine that cannot be made sense of is no reason to fail: nothing but times depends on it. A
/// graph file that does not fit is, since somebody wants it used.
std::unique_ptr<Survey> survey_if_possible(int rank, std::span<const connect::PeerInfo> peers) {
  try {
    return make_survey(rank, peers);
  } catch (const std::exception& error) {
    if (kGraphFile.is_set()) throw;
    log_warn(log_subsystem::kGraph, "the machine's topology is not known: {}", error.what());
    return nullptr;
  }
}

}  // namespace

Landscape::Landscape(const Config& config)
    : parts_(tune::Tuner::parts_from_parameters({}, config.min_ctas, config.max_ctas)) {
  fingerprint_ =
      tune::fingerprint_of(parts_) * 31 + static_cast<std::uint64_t>(kOneShotBytes.value());
}

std::shared_ptr<const tune::Tuner> Landscape::arrive(int rank, std::uint64_t hash,
                                                     std::span<const connect::PeerInfo> peers) {
  require_equal_settings(peers);
  const auto ranks = static_cast<int>(peers.size());
  const bool host = device::backend().name() == "host";
  std::unique_ptr<Survey> survey;
  if (!host || survey_is_wanted()) {
    survey = survey_if_possible(rank, peers);
    if (survey) log_survey(*survey, rank);
  }
  parts_.inputs = host || !survey ? tune::host_inputs(ranks)
                                  : tune::inputs_of(*survey->paths, survey->graphs, 1);
  parts_.inputs.ranks = ranks;
  parts_.algorithms =
      tune::bit_of(tune::Algorithm::kDirect) | tune::bit_of(tune::Algorithm::kOneShot);
  parts_.communicator = hash;
  if (survey) {
    log_info(log_subsystem::kInit,
             "{} coll channels, {} nvls channels; operations run with Direct "
             "and OneShot",
             survey->joined.channels, parts_.inputs.nvls_channels);
  }
  return std::make_shared<const tune::Tuner>(parts_);
}

}  // namespace ripieno::comm

// What a communicator knows of where it runs and what its user wants of the choice of algorithms.
// A host communicator needs no topology to choose, so the machine is surveyed only when something
// asks: a log line, a file to write, a device whose times follow from its links.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "comm/config.h"
#include "connect/host_links.h"
#include "tune/tuner.h"

namespace ripieno::comm {

class Landscape {
 public:
  /// Reads the variables. Throws Error (ncclInvalidUsage) for what they say wrongly.
  explicit Landscape(const Config& config);

  /// Equal on ranks that were told the same.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  /// Once the ranks have met: compares what they were told, surveys, starts the tuner. Throws Error
  /// (ncclInvalidUsage) naming a rank that was told something else.
  [[nodiscard]] std::shared_ptr<const tune::Tuner> arrive(int rank, std::uint64_t hash,
                                                          std::span<const connect::PeerInfo> peers);

 private:
  tune::Tuner::Parts parts_;
  std::uint64_t fingerprint_;
};

}  // namespace ripieno::comm

// The ranks that one thread drives, and how a body of a test is run on all ranks of a placement.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/board.h"
#include "support/check.h"
#include "support/launcher.h"
#include "support/placement.h"

namespace ripieno::test {

struct Rank {
  int number;
  int device;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

/// Used by its own thread only. Aborts communicators that were not destroyed.
class Party {
 public:
  Party(const Placement& placement, int process, int thread);
  ~Party();
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  [[nodiscard]] const Placement& placement() const noexcept { return placement_; }
  /// Ranks of the communicator, of which this party drives some.
  [[nodiscard]] int ranks() const noexcept { return placement_.ranks; }
  [[nodiscard]] int process() const noexcept { return process_; }
  [[nodiscard]] std::vector<Rank>& mine() noexcept { return mine_; }
  /// The first of them: the only one in placements with a thread or process for each rank.
  [[nodiscard]] Rank& rank() noexcept { return mine_.front(); }

  /// The id in `slot` of the board; the party of rank 0 makes it.
  [[nodiscard]] ncclUniqueId id(int slot);
  /// Communicators of a new id for all my ranks, in their order. `config` may be nullptr.
  [[nodiscard]] std::vector<ncclComm_t> make_communicators(int slot,
                                                           ncclConfig_t* config = nullptr);
  /// Gives every rank its communicator and stream.
  void init(ncclConfig_t* config = nullptr);
  /// Waits for all streams, then gives both back.
  void destroy();

  /// Calls `work(rank)` for each of my ranks, on its device.
  template <typename Work>
  void each(Work work) {
    for (Rank& rank : mine_) {
      check(cudaSetDevice(rank.device));
      work(rank);
    }
  }
  /// The same inside one group, if there are several; waits for the streams.
  template <typename Work>
  void launch(Work work) {
    if (mine_.size() > 1) {
      check(ncclGroupStart());
    }
    each(std::move(work));
    if (mine_.size() > 1) {
      check(ncclGroupEnd());
    }
    synchronize();
  }
  void synchronize();
  /// Waits for all parties of the run, without the library.
  void barrier();

 private:
  Placement placement_;
  int process_;
  std::vector<Rank> mine_;
  std::uint64_t barriers_ = 0;
};

/// Names the instances of tests that take a placement.
inline std::string name_of_parameter(const testing::TestParamInfo<Placement>& parameter) {
  return to_string(parameter.param);
}

/// Runs `body(party)` in every thread of `process`.
void run_process(const Placement& placement, int process, void (*body)(const void*, Party&),
                 const void* closure);

/// Runs `body(Party&)` on all ranks. The body may capture trivially copyable values.
template <typename Body>
void run_ranks(const Placement& placement, Body body, const RunOptions& options = {}) {
  struct Closure {
    Placement placement;
    Body body;
  };
  static_assert(std::is_trivially_copyable_v<Body>, "a body travels to other processes as bytes");
  const Closure closure{placement, body};
  const Job job{
      .invoke =
          [](const void* bytes, int process) {
            const auto* const run = static_cast<const Closure*>(bytes);
            run_process(
                run->placement, process,
                [](const void* inner, Party& party) { (*static_cast<const Body*>(inner))(party); },
                &run->body);
          },
      .closure = &closure,
      .bytes = sizeof closure};
  SCOPED_TRACE(to_string(placement));
  launch(placement.processes(), job, options);
}

/// run_ranks() with communicators and streams made before and destroyed after the body.
template <typename Body>
void run_with_communicators(const Placement& placement, Body body, const RunOptions& options = {}) {
  run_ranks(
      placement,
      [body](Party& party) {
        party.init();
        body(party);
        party.destroy();
      },
      options);
}

}  // namespace ripieno::test

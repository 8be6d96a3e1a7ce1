// Operations of one rank that meets its peers in the page: its stream says what it brings, waits,
// and goes on; the leader's stream computes for all. See page.h.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "coll/cuda/one_shot.h"
#include "plan/cuda/arrival.h"
#include "plan/cuda/memops.h"
#include "plan/cuda/page.h"
#include "plan/cuda/regions.h"

namespace ripieno::plan::gpu {

/// Rank that computes collectives for all.
inline constexpr int kLeader = 0;

class FlagRank {
 public:
  /// The device must be current. Throws Error.
  FlagRank(Page& page, Regions& regions, int rank, int ranks);
  ~FlagRank();
  FlagRank(const FlagRank&) = delete;
  FlagRank& operator=(const FlagRank&) = delete;

  /// From now on small collectives go in one shot: `boxes` are those of all ranks as this process
  /// sees them.
  void use_boxes(std::vector<const coll::gpu::Box*> boxes, coll::gpu::Box* own);

  /// Adds the whole batch to its stream, whose device must be current. Throws Error.
  void issue(Arrival arrival);

 private:
  void collective(const coll::Operation& operation, cudaStream_t stream);
  void one_shot(const coll::Operation& operation, cudaStream_t stream);
  void bring(const coll::Operation& operation);
  void bring_word(std::size_t index, std::uint64_t value);
  void lead(const coll::Operation& operation, cudaStream_t stream);
  void messages(const std::vector<coll::Operation>& operations, cudaStream_t stream);
  void message_round(const std::vector<std::vector<coll::Operation>>& sends,
                     const std::vector<std::vector<coll::Operation>>& receives, std::size_t first,
                     cudaStream_t stream);
  void copy_received(const std::vector<std::vector<coll::Operation>>& receives, std::size_t first,
                     cudaStream_t stream);

  template <typename T>
  const T* at(const T& word) const noexcept {
    return page_.on_device(&word);
  }

  Page& page_;
  Regions& regions_;
  int rank_;
  int ranks_;
  MemoryOps ops_;
  /// What the slot holds by now in stream order; unknown once a graph may write it at any time.
  std::array<std::uint64_t, sizeof(coll::gpu::Slot) / sizeof(std::uint64_t)> brought_{};
  bool knows_slot_ = false;
  bool ever_captured_ = false;
  /// In device memory, where many blocks can look at it at once.
  struct Near {
    coll::gpu::Fault fault;  ///< This and the slots are copied together.
    coll::gpu::Slot slots[coll::gpu::kMostRanks];
    coll::gpu::PostedMessage messages[coll::gpu::kMostCopies];
    std::uint32_t finished;  ///< Blocks of the leader's kernel that are through.
  };
  Near* near_ = nullptr;
  std::vector<const coll::gpu::Box*> boxes_;  ///< Empty: no one-shot.
  coll::gpu::Box* own_box_ = nullptr;
};

}  // namespace ripieno::plan::gpu

// A rank's executor on a GPU. Ranks that share a process meet there (meeting.h); ranks of several
// processes meet in a page (page.h, flags.h), and a keeper thread of each rank maps what peers ask
// for and notices their end.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "plan/cuda/flags.h"
#include "plan/cuda/meeting.h"
#include "plan/cuda/page.h"
#include "plan/cuda/regions.h"
#include "plan/executor.h"
#include "plan/sequencer.h"

namespace ripieno::plan::gpu {

/// What the ranks of one process share of a communicator.
struct Team {
  std::vector<int> devices;          ///< By rank: ordinal here; -1 for ranks of other processes.
  std::unique_ptr<Page> page;        ///< None for a single rank.
  std::unique_ptr<Meeting> meeting;  ///< Only where all ranks are in this process.

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(devices.size()); }
};

class GpuExecutor final : public Executor {
 public:
  GpuExecutor(Sequencer& sequencer, std::shared_ptr<Team> team);
  ~GpuExecutor() override;

  /// Where the peers find this rank's box, by rank: makes the box, and asks every peer to map it.
  [[nodiscard]] std::vector<std::uint64_t> offer_box();
  /// Where this rank finds everybody's.
  void use_boxes(const std::vector<std::uint64_t>& addresses);

  void start(std::span<StreamBatch> batches) override;
  void release() noexcept override;
  [[nodiscard]] bool wait(std::chrono::milliseconds timeout) noexcept override;

 private:
  struct Start;

  [[nodiscard]] Arrival arrive(StreamBatch& batch) const;
  /// Single rank: nobody to meet.
  void run_alone(Arrival arrival);
  /// By way of the page.
  void issue(Arrival arrival);
  void check_fault();
  void keep(const std::stop_token& stop);
  void let_go(const std::stop_token& stop) noexcept;
  [[nodiscard]] bool is_idle() noexcept;

  Sequencer& sequencer_;
  std::shared_ptr<Team> team_;
  int device_;
  std::mutex mutex_;  ///< Guards what follows, down to last_stream_.
  std::unique_ptr<Regions> regions_;
  std::unique_ptr<FlagRank> flags_;
  std::unique_ptr<Imports> imports_;  ///< With a keeper.
  coll::gpu::Box* box_ = nullptr;
  cudaEvent_t last_ = nullptr;  ///< Behind all that was issued by way of the page.
  cudaStream_t last_stream_ = nullptr;
  std::atomic<bool> issued_{false};
  std::mutex release_mutex_;  ///< Guards releaser_.
  std::jthread releaser_;
  std::jthread keeper_;
};

}  // namespace ripieno::plan::gpu

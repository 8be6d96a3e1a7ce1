// Addresses of this rank's memory in the processes of its peers. An allocation is mapped over there
// when a peer first needs it: this rank leaves a request in the page, and the peer's keeper thread
// answers it, whatever its application does.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/memory.h"
#include "plan/cuda/page.h"
#include "plan/sequencer.h"

namespace ripieno::plan::gpu {

/// The asking side, of one rank. Thread-safe.
class Regions {
 public:
  Regions(Page& page, Sequencer& sequencer, std::vector<bool> same_process);

  /// What rank `peer` calls `pointer`. Asks for the mapping where there is none yet. Throws Error.
  [[nodiscard]] const std::byte* address_for(int peer, const void* pointer);

 private:
  struct Region {
    device::cuda::Allocation allocation;
    std::unique_ptr<device::cuda::Export> exported;
    std::map<int, std::uint64_t> base_at;  ///< By peer.
  };
  Region& find(const device::cuda::Allocation& allocation);
  std::uint64_t ask(int peer, std::uint32_t slot, const device::cuda::ShareHandle& handle);

  Page& page_;
  Sequencer& sequencer_;
  std::vector<bool> same_process_;
  std::mutex mutex_;
  std::vector<Region> regions_;  ///< Guarded by mutex_.
};

/// The answering side, of one rank. What a peer has freed is not unmapped at once: that would wait
/// for the device, where a stream may wait for what this thread is to map next.
class Imports {
 public:
  Imports(Page& page, int rank) : page_(page), rank_(rank) {}
  /// Answers what peers have asked. One thread only.
  void serve();
  /// Whether much has been freed. Any thread.
  [[nodiscard]] bool is_untidy();
  /// Unmaps it; when no stream of this rank waits. Any thread.
  void tidy();

 private:
  void answer(int peer, MapRequest& request);

  Page& page_;
  int rank_;
  std::map<std::pair<int, std::uint32_t>, std::unique_ptr<device::cuda::Import>> mapped_;
  std::mutex mutex_;  ///< Guards retired_.
  std::vector<std::unique_ptr<device::cuda::Import>> retired_;
};

}  // namespace ripieno::plan::gpu

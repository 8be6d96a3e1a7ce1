// Where a communicator's ranks come from: an origin brings them together, and what it returns lets
// them exchange what they need to connect. Init, split, shrink and grow differ in nothing else.
#pragma once

#include <nccl.h>

#include <memory>
#include <vector>

#include "base/cancellation.h"
#include "bootstrap/bootstrap.h"

namespace ripieno::comm {

class Communicator;

class Origin {
 public:
  Origin() = default;
  virtual ~Origin() = default;
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;

  /// Waits for the other ranks. Called once; the result must not outlive the origin. nullptr: this
  /// rank takes part but gets no communicator. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<bootstrap::Gathering> join(
      const Cancellation& cancellation) = 0;
  /// The communicator is about to be seen as made.
  virtual void about_to_finish() noexcept {}
};

/// By unique ids.
[[nodiscard]] std::unique_ptr<Origin> from_ids(std::vector<ncclUniqueId> ids,
                                               bootstrap::Membership membership);
// The others check the call against the parent's state at once (Error), and keep the parent busy
// until they are destroyed.

/// Those of the parent's ranks that pass `color`, by `key` and then by rank.
[[nodiscard]] std::unique_ptr<Origin> from_split(std::shared_ptr<Communicator> parent, int color,
                                                 int key);
/// The parent's ranks without `excluded`; with `abort` all work of the parent is stopped first.
[[nodiscard]] std::unique_ptr<Origin> from_shrink(std::shared_ptr<Communicator> parent,
                                                  const std::vector<int>& excluded, bool abort);
/// An old rank of a communicator that grows to `ranks` ranks; one of them brings the id.
[[nodiscard]] std::unique_ptr<Origin> from_growth(std::shared_ptr<Communicator> parent, int ranks,
                                                  const ncclUniqueId* id);

}  // namespace ripieno::comm

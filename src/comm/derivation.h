// A call that all ranks of a communicator, or those that are left, make together: it keeps the
// communicator busy while it lasts, and says where and under which marks the ranks meet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "comm/life.h"
#include "connect/meeting.h"

namespace ripieno::comm {

class Communicator;

class Derivation {
 public:
  /// Throws Error unless `parent` takes the call now.
  Derivation(std::shared_ptr<Communicator> parent, Call call, std::string purpose);
  ~Derivation();
  Derivation(const Derivation&) = delete;
  Derivation& operator=(const Derivation&) = delete;

  [[nodiscard]] Communicator& parent() noexcept { return *parent_; }
  /// From here to this object's end, calls wait for that end instead of being refused: who learns
  /// of the result may go on with the parent.
  void about_to_finish() noexcept;

  /// All ranks of the parent. `cancellation` must outlive the meeting, as must this object.
  [[nodiscard]] std::unique_ptr<connect::Meeting> meet_all(const Cancellation& cancellation);
  /// The given ranks, in this order.
  [[nodiscard]] std::unique_ptr<connect::Meeting> meet(std::vector<int> members,
                                                       const Cancellation& cancellation);

 private:
  [[nodiscard]] connect::Meeting::Plan plan(std::vector<int> members,
                                            const Cancellation& cancellation) const;
  void check(const Cancellation& cancellation) const;

  std::shared_ptr<Communicator> parent_;
  Call call_;
  std::string purpose_;
  bool after_failure_;
  std::uint64_t ordinal_;  ///< Of this call among its like.
};

}  // namespace ripieno::comm

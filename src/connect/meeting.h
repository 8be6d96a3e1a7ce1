// Ranks of a communicator come together again, outside of any stream: all of them or some, to make
// another communicator or to register memory together. They exchange bytes over slots of the
// control page, so a meeting needs no socket, waits only for its own members, and whoever else has
// died, failed or left does not matter to it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "bootstrap/bootstrap.h"
#include "transport/control_page.h"

namespace ripieno::connect {

/// Mixes numbers into marks and hashes that all members compute alike.
[[nodiscard]] std::uint64_t mix(std::uint64_t seed, std::uint64_t value) noexcept;

/// Where one rank of a communicator meets the others. One meeting at a time.
class MeetingPlace {
 public:
  MeetingPlace(std::shared_ptr<transport::ControlPage> page, int rank) noexcept
      : page_(std::move(page)), rank_(rank) {}

  [[nodiscard]] const transport::ControlPage& page() const noexcept { return *page_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  friend class Meeting;
  std::shared_ptr<transport::ControlPage> page_;
  int rank_;
  std::array<std::uint64_t, 2> turns_{};  ///< Steps taken so far in each lane.
};

class Meeting final : public bootstrap::Gathering {
 public:
  struct Plan {
    std::string purpose;  ///< For sentences: "ncclCommSplit".
    /// Ranks of the communicator in the order of their ranks here; this one is among them.
    std::vector<int> members;
    transport::MeetingLane lane;
    /// Equal on all members, different for every meeting of the communicator.
    std::uint64_t mark;
    /// Which call this is, and a hash of the company: members who make the same call with another
    /// company are told so.
    std::uint64_t about;
    std::uint64_t company;
    /// Whether a member that failed may still come, because it is failures that are left behind.
    bool after_failure;
    /// Throws Error when this rank must not wait any longer.
    std::function<void()> check;
    Deadline deadline;
  };
  Meeting(MeetingPlace& place, Plan plan);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int ranks() const noexcept override {
    return static_cast<int>(plan_.members.size());
  }
  [[nodiscard]] std::uint64_t hash() const noexcept override;
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override;
  void barrier() override;

 private:
  using Slots = std::vector<const transport::MeetingSlot*>;

  void step(std::span<const std::byte> mine);
  void publish(std::span<const std::byte> mine);
  [[nodiscard]] bool is_complete() noexcept;
  void wait();
  void look_for_trouble(std::chrono::milliseconds waited) const;
  /// Members that have not come to this step.
  struct Missing {
    std::string text;
    std::size_t count;
  };
  [[nodiscard]] Missing missing() const;
  [[noreturn]] void throw_missing() const;

  MeetingPlace& place_;
  Plan plan_;
  int rank_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t mark_ = 0;   ///< Of the step under way.
  Slots slots_;              ///< Of each member for this step, once it is there.
  std::size_t arrived_ = 0;  ///< Members before it are known to have come.
};

}  // namespace ripieno::connect

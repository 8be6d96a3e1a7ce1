// A step: fill the own slot, store its mark, wait until every member's mark is there. Two slots a
// lane are enough for the reason that two arrival slots are (see src/transport/README.md).
#include "connect/meeting.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"

namespace ripieno::connect {
namespace {

using transport::MeetingSlot;
using transport::Presence;
using transport::RankLine;

constexpr SecondsParameter kStallSeconds{"RIPIENO_STALL_SECONDS"};

constexpr int kYields = 20;
constexpr std::chrono::milliseconds kNap{50};
/// A member that stays with another company this long does so for good.
constexpr std::chrono::milliseconds kDisagreement{1000};

}  // namespace

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) noexcept {
  // The finaliser of splitmix64.
  std::uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

Meeting::Meeting(MeetingPlace& place, Plan plan) : place_(place), plan_(std::move(plan)) {
  const auto self = std::ranges::find(plan_.members, place.rank());
  rank_ = static_cast<int>(self - plan_.members.begin());
  slots_.resize(plan_.members.size());
}

std::uint64_t Meeting::hash() const noexcept {
  return mix(plan_.mark, static_cast<std::uint64_t>(*std::ranges::min_element(plan_.members)));
}

std::vector<std::byte> Meeting::all_gather(std::span<const std::byte> mine) {
  std::vector<std::byte> all(mine.size() * plan_.members.size());
  for (std::size_t begin = 0; begin < mine.size(); begin += transport::kMeetingBytes) {
    const auto piece = mine.subspan(begin, std::min(transport::kMeetingBytes, mine.size() - begin));
    step(piece);
    for (std::size_t member = 0; member < slots_.size(); ++member) {
      if (slots_[member]->size != piece.size()) {
        throw Error(ncclInvalidUsage, "{}: rank {} brought {} bytes and rank {} {}", plan_.purpose,
                    plan_.members[member], slots_[member]->size, place_.rank(), piece.size());
      }
      std::memcpy(all.data() + member * mine.size() + begin, slots_[member]->bytes.data(),
                  piece.size());
    }
  }
  return all;
}

void Meeting::barrier() {
  step({});
}

void Meeting::step(std::span<const std::byte> mine) {
  mark_ = mix(plan_.mark, ++steps_);
  arrived_ = 0;
  publish(mine);
  wait();
}

void Meeting::publish(std::span<const std::byte> mine) {
  std::uint64_t& turn = place_.turns_[static_cast<std::size_t>(plan_.lane)];
  MeetingSlot& slot = place_.page().meeting_slot(place_.rank(), plan_.lane, ++turn);
  slot.about.store(plan_.about, std::memory_order_relaxed);
  slot.company.store(plan_.company, std::memory_order_relaxed);
  slot.size = mine.size();
  std::ranges::copy(mine, slot.bytes.begin());
  slot.mark.store(mark_, std::memory_order_seq_cst);
  // Only the last to come has news for those who sleep.
  if (is_complete()) {
    for (const int member : plan_.members) {
      place_.page().ring(member);
    }
  }
}

bool Meeting::is_complete() noexcept {
  for (; arrived_ < slots_.size(); ++arrived_) {
    const int member = plan_.members[arrived_];
    const MeetingSlot* found = nullptr;
    for (const std::uint64_t turn : {0, 1}) {
      const MeetingSlot& slot = place_.page().meeting_slot(member, plan_.lane, turn);
      if (slot.mark.load(std::memory_order_seq_cst) == mark_) {
        found = &slot;
      }
    }
    if (found == nullptr) {
      return false;
    }
    slots_[arrived_] = found;
  }
  return true;
}

void Meeting::wait() {
  for (int yields = 0; yields < kYields; ++yields) {
    if (is_complete()) {
      return;
    }
    sched_yield();
  }
  const auto begin = Deadline::Clock::now();
  const std::chrono::seconds stall = kStallSeconds.value();
  bool reported = stall.count() == 0;
  while (!is_complete()) {
    plan_.check();
    if (!reported && Deadline::Clock::now() - begin >= stall) {
      reported = true;
      log_warn(log_subsystem::kInit, "{} on rank {} has waited {} s for rank(s) {}", plan_.purpose,
               place_.rank(), stall.count(), missing().text);
    }
    look_for_trouble(
        std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::Clock::now() - begin));
    if (plan_.deadline.expired()) {
      throw_missing();
    }
    place_.page().sleep(place_.rank(), std::min(kNap, plan_.deadline.remaining()),
                        [this] { return is_complete(); });
  }
}

/// Throws where a missing member can't come any more, or has gone to another meeting.
void Meeting::look_for_trouble(std::chrono::milliseconds waited) const {
  for (std::size_t index = arrived_; index < plan_.members.size(); ++index) {
    const int member = plan_.members[index];
    const RankLine& line = place_.page().line(member);
    const Presence presence = line.presence.load(std::memory_order_seq_cst);
    const bool gone = line.gone.load(std::memory_order_seq_cst) != 0;
    // What it did before it went still counts.
    bool is_here = false;
    bool is_elsewhere = false;
    for (const std::uint64_t turn : {0, 1}) {
      const MeetingSlot& slot = place_.page().meeting_slot(member, plan_.lane, turn);
      is_here |= slot.mark.load(std::memory_order_seq_cst) == mark_;
      is_elsewhere |= slot.about.load(std::memory_order_relaxed) == plan_.about &&
                      slot.company.load(std::memory_order_relaxed) != plan_.company;
    }
    if (is_here) {
      continue;
    }
    if (presence == Presence::kDied) {
      throw Error(ncclRemoteError, "{}: rank {} (process {}) died", plan_.purpose, member,
                  line.process_id);
    }
    if (gone) {
      throw Error(ncclRemoteError, "{}: rank {} (process {}) has given up its communicator",
                  plan_.purpose, member, line.process_id);
    }
    if (presence == Presence::kFailed && !plan_.after_failure) {
      throw Error(static_cast<ncclResult_t>(line.fault_code), "{}: rank {} reported: {}",
                  plan_.purpose, member, line.fault.data());
    }
    if (is_elsewhere && waited >= kDisagreement) {
      throw Error(ncclInvalidUsage, "{}: rank {} called it with other ranks than rank {}",
                  plan_.purpose, member, place_.rank());
    }
  }
}

Meeting::Missing Meeting::missing() const {
  Missing missing{};
  for (const int member : plan_.members) {
    bool is_here = false;
    for (const std::uint64_t turn : {0, 1}) {
      is_here |= place_.page().meeting_slot(member, plan_.lane, turn).mark.load() == mark_;
    }
    if (!is_here) {
      missing.text += fmt::format("{}{} (process {})", missing.count++ == 0 ? "" : ", ", member,
                                  place_.page().line(member).process_id);
    }
  }
  return missing;
}

void Meeting::throw_missing() const {
  const Missing absent = missing();
  throw Error(ncclRemoteError, "{}: {} of {} ranks came in time; missing: {}", plan_.purpose,
              plan_.members.size() - absent.count, plan_.members.size(), absent.text);
}

}  // namespace ripieno::connect

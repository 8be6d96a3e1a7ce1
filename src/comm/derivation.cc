// Marks: a call of all ranks is numbered, from the start or from the revocation on, so that ranks
// which failed at different places are in step again afterwards. A shrink is known by who is left.
#include "comm/derivation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parameters.h"
#include "comm/communicator.h"

namespace ripieno::comm {
namespace {

constexpr SecondsParameter kInitTimeout{"RIPIENO_INIT_TIMEOUT"};

// Kinds of marks.
constexpr std::uint64_t kOfAll = 1;
constexpr std::uint64_t kOfSome = 2;
constexpr std::uint64_t kOfTheLeft = 3;
constexpr std::uint64_t kAfterRevocation = 4;

std::uint64_t hash_of(const std::string& text) noexcept {
  std::uint64_t hash = 0;
  for (const char letter : text) {
    hash = connect::mix(hash, static_cast<unsigned char>(letter));
  }
  return hash;
}

std::uint64_t hash_of(const std::vector<int>& ranks) noexcept {
  std::uint64_t hash = 0;
  for (const int rank : ranks) {
    hash = connect::mix(hash, static_cast<std::uint64_t>(rank));
  }
  return hash;
}

}  // namespace

Derivation::Derivation(std::shared_ptr<Communicator> parent, Call call, std::string purpose)
    : parent_(std::move(parent)), call_(call), purpose_(std::move(purpose)) {
  parent_->require(call);
  auto none = Communicator::Deriving::kNothing;
  if (!parent_->deriving_.compare_exchange_strong(none, Communicator::Deriving::kUnderWay)) {
    const Verdict busy = verdict(State::kBusy, call);
    throw Error(busy.result, "{}", busy.sentence);
  }
  const bool revoked = parent_->state_.load() == State::kRevoked;
  after_failure_ = call == Call::kShrink || revoked;
  if (revoked && !std::exchange(parent_->counts_from_revocation_, true)) {
    parent_->derivations_ = 0;
  }
  ordinal_ = call == Call::kShrink ? ++parent_->shrinks_ : ++parent_->derivations_;
}

Derivation::~Derivation() {
  parent_->deriving_.store(Communicator::Deriving::kNothing, std::memory_order_release);
  parent_->deriving_.notify_all();
}

void Derivation::about_to_finish() noexcept {
  parent_->deriving_.store(Communicator::Deriving::kFinishing, std::memory_order_release);
}

std::unique_ptr<connect::Meeting> Derivation::meet_all(const Cancellation& cancellation) {
  std::vector<int> everyone(static_cast<std::size_t>(parent_->ranks()));
  std::iota(everyone.begin(), everyone.end(), 0);
  connect::Meeting::Plan all = plan(std::move(everyone), cancellation);
  all.lane = transport::MeetingLane::kAll;
  all.about = connect::mix(all.about, kOfAll);
  all.company = hash_of(purpose_);
  all.mark = connect::mix(all.about, all.company);
  return std::make_unique<connect::Meeting>(*parent_->meeting_place_, std::move(all));
}

std::unique_ptr<connect::Meeting> Derivation::meet(std::vector<int> members,
                                                   const Cancellation& cancellation) {
  const std::uint64_t company = hash_of(members);
  connect::Meeting::Plan some = plan(std::move(members), cancellation);
  some.lane = transport::MeetingLane::kSome;
  some.company = company;
  if (call_ == Call::kShrink) {
    some.about = connect::mix(some.about, kOfTheLeft);
    const std::uint64_t attempt = ++parent_->shrinks_by_company_[company];
    some.mark =
        connect::mix(connect::mix(parent_->hash(), kOfTheLeft), connect::mix(company, attempt));
  } else {
    some.about = connect::mix(some.about, kOfSome);
    some.mark = connect::mix(some.about, company);
  }
  return std::make_unique<connect::Meeting>(*parent_->meeting_place_, std::move(some));
}

connect::Meeting::Plan Derivation::plan(std::vector<int> members,
                                        const Cancellation& cancellation) const {
  std::uint64_t about = connect::mix(parent_->hash(), ordinal_);
  if (call_ != Call::kShrink && after_failure_) {
    about = connect::mix(about, kAfterRevocation);
  }
  return {.purpose = purpose_,
          .members = std::move(members),
          .lane = transport::MeetingLane::kAll,
          .mark = 0,
          .about = about,
          .company = 0,
          .after_failure = after_failure_,
          .check = [this, &cancellation] { check(cancellation); },
          .deadline = Deadline::after(kInitTimeout.value())};
}

void Derivation::check(const Cancellation& cancellation) const {
  if (cancellation.cancelled() || parent_->cancellation_.cancelled()) {
    throw Error(ncclInvalidUsage, "{}: the communicator was aborted meanwhile", purpose_);
  }
  if (after_failure_) {
    return;
  }
  if (const ncclResult_t failed = parent_->failure(); failed != ncclSuccess) {
    throw Error(failed, "{}: {}", purpose_, parent_->failure_text());
  }
  if (parent_->state_.load(std::memory_order_acquire) == State::kRevoked) {
    throw Error(ncclInvalidUsage, "{}: the communicator was revoked meanwhile", purpose_);
  }
}

}  // namespace ripieno::comm

// One loop over the listener, callers that have yet to prove themselves, and ranks that wait. The
// first rank to come says how many to expect; all others must agree with it.
#include "bootstrap/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "bootstrap/acceptor.h"
#include "bootstrap/messages.h"
#include "bootstrap/tree.h"

namespace ripieno::bootstrap {
namespace {

using std::chrono::milliseconds;

/// After a contradiction, ranks that come late are told of it for this long.
constexpr milliseconds kFarewell{1000};
/// A rank that has proved itself must say who it is within this.
constexpr milliseconds kIntroductionTime{5000};

/// A rank, or whoever proved to know the secret and has yet to say more.
struct Visitor {
  int rank;  ///< As it proved; where it is from follows in its request.
  std::unique_ptr<Channel> channel;
  Deadline limit;  ///< Of its patience, or until it must have introduced itself.
  std::optional<JoinRequest> request{};
  Deadline::Clock::time_point arrived = Deadline::Clock::now();
  bool stirs = true;  ///< Its connection has something to say.
};

/// "5, 9-11"; long lists are cut.
std::string list_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 16;
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < ranks.size();) {
    std::size_t end = at + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (parts.size() == kMost) {
      parts.push_back(fmt::format("and {} more", ranks.size() - at));
      break;
    }
    parts.push_back(end - at == 1 ? fmt::format("{}", ranks[at])
                                  : fmt::format("{}-{}", ranks[at], ranks[end - 1]));
    at = end;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The rendezvous of this process. Open ones can be dismissed, and those that are over are
/// remembered for a while, so that an id used twice is told apart from a network that fails.
class Registry {
 public:
  static Registry& instance() {
    // Never destroyed: rendezvous threads may outlive main().
    static Registry* const the_one = new Registry;
    return *the_one;
  }

  std::shared_ptr<Cancellation> open(const Key& secret) {
    auto dismissal = std::make_shared<Cancellation>();
    const std::lock_guard lock(mutex_);
    open_[secret] = dismissal;
    std::erase(over_, secret);
    return dismissal;
  }
  /// Of that very rendezvous: a fixed address may have been opened again meanwhile.
  void close(const Key& secret, const Cancellation& dismissal) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(secret);
    if (found == open_.end() || found->second.get() != &dismissal) return;
    open_.erase(found);
    over_.push_back(secret);
    constexpr std::size_t kRemembered = 1024;
    if (over_.size() > kRemembered) over_.pop_front();
  }
  void dismiss(const Key& secret) {
    std::shared_ptr<Cancellation> dismissal;
    {
      const std::lock_guard lock(mutex_);
      const auto found = open_.find(secret);
      if (found == open_.end()) return;
      dismissal = found->second;
    }
    dismissal->cancel();
    close(secret, *dismissal);
  }
  LocalRendezvous look_up(const Key& secret) {
    const std::lock_guard lock(mutex_);
    if (open_.contains(secret)) return LocalRendezvous::kOpen;
    return std::ranges::find(over_, secret) != over_.end() ? LocalRendezvous::kOver
                                                           : LocalRendezvous::kUnknown;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Cancellation>> open_;
  std::deque<Key> over_;
};

class Rendezvous {
 public:
  Rendezvous(Listener listener, const Key& secret, milliseconds idle)
      : secret_(secret),
        dismissal_(Registry::instance().open(secret)),
        acceptor_(std::move(listener.socket),
                  {{.purpose = Purpose::kRendezvous,
                    .key = rendezvous_key(secret),
                    .frame_limit = kRendezvousFrameLimit}},
                  random_key()),
        idle_limit_(Deadline::after(idle)) {}

  ~Rendezvous() { Registry::instance().close(secret_, *dismissal_); }
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  void run() {
    while (!finished_) {
      wait();
      if (dismissal_->cancelled()) return;
      admit();
      listen_to_visitors();
      check_limits();
    }
    log_info(log_subsystem::kBootstrap, "Rendezvous over: {} of {} ranks, {} strangers dropped",
             members_.size(), expected() ? expected()->members : 0, acceptor_.strangers());
  }

 private:
  /// Who must come, known from the first request on.
  struct Expected {
    Tree tree;
    int group;
    std::size_t members;
    std::size_t leaders;
  };

  [[nodiscard]] std::optional<Expected> expected() const {
    if (!first_) return std::nullopt;
    const Tree tree(static_cast<int>(first_->ranks), static_cast<int>(first_->groups));
    const int group = static_cast<int>(first_->group);
    return Expected{.tree = tree,
                    .group = group,
                    .members = static_cast<std::size_t>(tree.size_of(group)),
                    .leaders = group == 0 ? static_cast<std::size_t>(tree.groups() - 1) : 0};
  }

  [[nodiscard]] Deadline limit() const {
    if (farewell_) return *farewell_;
    Deadline first = visitors_.empty() ? idle_limit_ : Deadline::never();
    for (const Visitor& visitor : visitors_) first = earlier(first, visitor.limit);
    return first;
  }

  void wait() {
    std::vector<pollfd> watched{{.fd = dismissal_->fd(), .events = POLLIN, .revents = 0}};
    acceptor_.watch(watched);
    for (const Visitor& visitor : visitors_) {
      watched.push_back({.fd = visitor.channel->fd(), .events = POLLIN, .revents = 0});
    }
    const Deadline until = earlier(limit(), acceptor_.due());
    if (::poll(watched.data(), watched.size(), until.poll_timeout()) < 0 && errno != EINTR) {
      throw Error::system("A rendezvous could not wait", errno);
    }
    const std::size_t first = watched.size() - visitors_.size();
    for (std::size_t at = 0; at < visitors_.size(); ++at) {
      visitors_[at].stirs = watched[first + at].revents != 0;
    }
  }

  void admit() {
    try {
      for (Guest& guest : acceptor_.advance()) {
        visitors_.push_back({.rank = guest.from,
                             .channel = std::move(guest.channel),
                             .limit = Deadline::after(kIntroductionTime)});
      }
    } catch (const Error& error) {
      fail(
          {.result = error.result(),
           .sentence = fmt::format("{}; raise the limit of open files (ulimit -n) where the unique "
                                   "id is made, or share the ranks out with "
                                   "ncclCommInitRankScalable",
                                   error.what())},
          Departed::kYes);
    }
  }

  void listen_to_visitors() {
    for (std::size_t at = 0; at < visitors_.size() && !finished_;) {
      // Hearing one may end the rendezvous for all and empty the list.
      if (!visitors_[at].stirs || hear(visitors_[at])) {
        ++at;
      } else if (at < visitors_.size()) {
        visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }

  /// False: this visitor is to be forgotten.
  bool hear(Visitor& visitor) {
    std::optional<Frame> frame;
    try {
      frame = visitor.channel->next();
    } catch (const Error& error) {
      // It knew the secret, so it is one of ours, or was until somebody meddled with its
      // connection.
      fail({.result = error.result(), .sentence = error.what()}, Departed::kNo);
      return false;
    }
    if (frame) {
      if (frame->type == FrameType::kBye) return false;
      receive(visitor, *frame);
      return !failure_ && !finished_;
    }
    if (!visitor.channel->ended()) return true;
    fail({.result = ncclRemoteError,
          .sentence = fmt::format("rank {} ({}) left before all ranks had {}", visitor.rank,
                                  visitor.request ? visitor.request->place : "of unknown place",
                                  welcomed_ ? "connected" : "joined")},
         Departed::kYes);
    return false;
  }

  void receive(Visitor& visitor, const Frame& frame) {
    if (failure_) {
      send_failure(*visitor.channel);
      return;
    }
    if (frame.type == FrameType::kFailure) {
      // A rank that could not connect, or a leader whose own group failed.
      const auto told = decode_failure(frame.payload);
      fail(told.value_or(Failure{.result = ncclRemoteError,
                                 .sentence = "another group of ranks failed to meet"}),
           Departed::kNo);
      return;
    }
    auto request =
        frame.type == FrameType::kJoin ? decode_join_request(frame.payload) : std::nullopt;
    if (!request) {
      fail(unreadable(frame.payload), Departed::kNo);
      return;
    }
    if (const std::string contradiction = compare(*request); !contradiction.empty()) {
      fail({.result = contradiction_result_, .sentence = contradiction}, Departed::kNo);
      return;
    }
    visitor.limit = Deadline::after(request->patience);
    auto& place = request->kind == JoinRequest::Kind::kMember ? members_ : leaders_;
    place.emplace(static_cast<int>(request->rank), request->listener);
    visitor.request = std::move(*request);
    const auto all = expected();
    if (members_.size() == all->members && leaders_.size() == all->leaders) welcome_all();
  }

  static Failure unreadable(std::span<const std::byte> payload) {
    const std::string version = version_of_join_request(payload);
    if (version != kLibraryVersion) {
      return {
          .result = ncclInvalidUsage,
          .sentence = fmt::format(
              "ranks use different versions of the library, {} and {}: install the same everywhere",
              version.substr(0, 32), kLibraryVersion)};
    }
    return {.result = ncclInternalError, .sentence = "a rank's request to join cannot be read"};
  }

  /// What is wrong with a request beside the first one; empty if nothing.
  std::string compare(const JoinRequest& request) {
    if (!first_) first_ = request;
    const JoinRequest& first = *first_;
    contradiction_result_ = ncclInvalidUsage;
    if (request.version != first.version || request.version != kLibraryVersion) {
      return fmt::format(
          "ranks use different versions of the library: rank {} ({}) {}, rank {} ({}) {}, "
          "rendezvous {}: "
          "install the same everywhere",
          first.rank, first.place, first.version, request.rank, request.place, request.version,
          kLibraryVersion);
    }
    contradiction_result_ = ncclInvalidArgument;
    if (request.ranks != first.ranks) {
      return fmt::format(
          "ranks disagree on their number: rank {} ({}) says {}, rank {} ({}) says {}", first.rank,
          first.place, first.ranks, request.rank, request.place, request.ranks);
    }
    if (request.groups != first.groups || request.group != first.group ||
        request.ids != first.ids) {
      return fmt::format("rank {} ({}) and rank {} ({}) were given different lists of unique ids",
                         first.rank, first.place, request.rank, request.place);
    }
    return misplaced(request);
  }

  std::string misplaced(const JoinRequest& request) const {
    const auto all = expected();
    const int rank = static_cast<int>(request.rank);
    const bool is_member = request.kind == JoinRequest::Kind::kMember;
    const bool in_group = all->tree.group_of(rank) == all->group;
    if (is_member ? !in_group : in_group || !all->tree.is_leader(rank) || all->group != 0) {
      return fmt::format("rank {} ({}) came to the wrong unique id", request.rank, request.place);
    }
    if (!(is_member ? members_ : leaders_).contains(rank)) return {};
    std::string other = "a process that has left";
    for (const Visitor& visitor : visitors_) {
      if (visitor.request && visitor.request->rank == request.rank) other = visitor.request->place;
    }
    return fmt::format("two callers ({} and {}) both want to be rank {}", other, request.place,
                       request.rank);
  }

  void welcome_all() {
    // Closed first: who comes back for another communicator at this address must not find this one.
    acceptor_.close();
    Registry::instance().close(secret_, *dismissal_);
    const auto all = expected();
    for (const Visitor& visitor : visitors_) {
      if (!visitor.request) continue;
      Welcome welcome;
      const int rank = static_cast<int>(visitor.request->rank);
      const int parent = all->tree.parent(rank);
      const bool leads = visitor.request->kind == JoinRequest::Kind::kLeader;
      const auto& known = leads && parent != 0 ? leaders_ : members_;
      if (const auto found = known.find(parent); found != known.end()) {
        welcome = {.parent_rank = parent, .parent = found->second};
      }
      visitor.channel->queue(FrameType::kWelcome, encode(welcome));
      visitor.channel->flush();
    }
    welcomed_ = true;
  }

  void check_limits() {
    if (finished_) return;
    if (welcomed_ && !failure_) {
      // From here on the ranks' own patience counts.
      std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.limit.expired(); });
      finished_ = visitors_.empty();
      return;
    }
    if (farewell_) {
      finished_ = farewell_->expired();
      return;
    }
    if (visitors_.empty()) {
      finished_ = finished_ || idle_limit_.expired();
      return;
    }
    std::erase_if(visitors_, [](const Visitor& visitor) {
      return !visitor.request && visitor.limit.expired();
    });
    for (const Visitor& visitor : visitors_) {
      if (!visitor.limit.expired()) continue;
      fail({.result = ncclRemoteError, .sentence = count_missing(visitor)}, Departed::kNo);
      return;
    }
  }

  std::string count_missing(const Visitor& impatient) const {
    const auto all = expected();
    std::vector<int> missing;
    const int begin = all->tree.first_of(all->group);
    for (int rank = begin; rank < all->tree.first_of(all->group + 1); ++rank) {
      if (!members_.contains(rank)) missing.push_back(rank);
    }
    std::string groups;
    if (members_.size() == all->members) {
      for (int group = 1; group < all->tree.groups(); ++group) {
        if (leaders_.contains(all->tree.first_of(group))) continue;
        groups = fmt::format("; still incomplete: the group of ranks {}-{} of unique id {}",
                             all->tree.first_of(group), all->tree.first_of(group + 1) - 1, group);
        break;
      }
    }
    const std::chrono::duration<double> waited = Deadline::Clock::now() - impatient.arrived;
    return fmt::format("{} of {} ranks joined after {:.3g} s; missing: {}{}", members_.size(),
                       all->members, waited.count(), missing.empty() ? "none" : list_ranks(missing),
                       groups);
  }

  enum class Departed { kNo, kYes };

  void fail(const Failure& failure, Departed departed) {
    if (failure_) return;
    failure_ = failure;
    for (const Visitor& visitor : visitors_) send_failure(*visitor.channel);
    log_info(log_subsystem::kBootstrap, "Rendezvous failed: {}", failure.sentence);
    visitors_.clear();
    // A rank that left was told to; nothing of it shall stay behind. And once all had come nobody
    // else will.
    if (departed == Departed::kYes || welcomed_) {
      acceptor_.close();
      finished_ = true;
    } else {
      farewell_ = Deadline::after(kFarewell);
    }
  }

  void send_failure(Channel& channel) const {
    channel.queue(FrameType::kFailure, encode(*failure_));
    channel.flush();
  }

  Key secret_;
  std::shared_ptr<Cancellation> dismissal_;
  Acceptor acceptor_;
  Deadline idle_limit_;
  std::vector<Visitor> visitors_;
  std::optional<JoinRequest> first_;
  std::map<int, Address> members_;
  std::map<int, Address> leaders_;
  std::optional<Failure> failure_;
  std::optional<Deadline> farewell_;
  ncclResult_t contradiction_result_ = ncclInvalidArgument;
  bool welcomed_ = false;  ///< All have come; now they connect to each other.
  bool finished_ = false;
};

}  // namespace

LocalRendezvous local_rendezvous(const Key& secret) {
  return Registry::instance().look_up(secret);
}

void dismiss_rendezvous(const Key& secret) {
  Registry::instance().dismiss(secret);
}

void start_rendezvous(Listener listener, const Key& secret, std::chrono::milliseconds idle) {
  auto rendezvous = std::make_unique<Rendezvous>(std::move(listener), secret, idle);
  start_thread("ripieno-rendezvous", [owned = std::move(rendezvous)] {
    try {
      owned->run();
    } catch (const std::exception& error) {
      log_warn(log_subsystem::kBootstrap, "A rendezvous ended: {}", error.what());
    }
  }).detach();
}

}  // namespace ripieno::bootstrap

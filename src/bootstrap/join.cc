// From ids to a member of the tree: meet at the rendezvous of one's group, connect to one's parent,
// let the children connect, and introduce everybody to everybody.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#include "base/process.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/connector.h"
#include "bootstrap/interfaces.h"
#include "bootstrap/member.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/solitary.h"
#include "bootstrap/unique_id.h"

namespace ripieno::bootstrap {
namespace {

using std::chrono::milliseconds;

constexpr StringParameter kCommId{"NCCL_COMM_ID"};
constexpr SecondsParameter kInitTimeout{"RIPIENO_INIT_TIMEOUT"};
enum class SocketFamily { kV4, kV6 };
constexpr EnumParameter<SocketFamily> kFamily{"NCCL_SOCKET_FAMILY"};

/// A rendezvous that closed on its own terms says why; it is given this much longer than the rank's
/// own patience to do so.
constexpr milliseconds kLastWord{500};

std::optional<Family> wanted_family() {
  if (!kFamily.is_set()) return std::nullopt;
  return kFamily.value() == SocketFamily::kV6 ? Family::kV6 : Family::kV4;
}

std::vector<UniqueId> decode_all(std::span<const ncclUniqueId> ids) {
  std::vector<UniqueId> decoded;
  for (const ncclUniqueId& id : ids) {
    const auto one = decode(id);
    if (!one) {
      throw Error(
          ncclInvalidArgument,
          "The unique id{} was not made by ncclGetUniqueId of this library, or was damaged on its "
          "way: pass on all {} bytes as they are",
          ids.size() > 1 ? fmt::format(" number {}", decoded.size()) : "", NCCL_UNIQUE_ID_BYTES);
    }
    decoded.push_back(*one);
  }
  return decoded;
}

[[noreturn]] void throw_used(const Address& address) {
  throw Error(
      ncclInvalidUsage,
      "The rendezvous at {} is over: this unique id was already used, its rendezvous failed, or "
      "the process that made it has ended; make a new id for every communicator",
      address.to_string());
}

/// One join, step by step.
class Joining {
 public:
  Joining(std::vector<UniqueId> ids, Membership membership, milliseconds timeout,
          const Cancellation& cancellation)
      : ids_(std::move(ids)),
        rank_(membership.rank),
        tree_(membership.ranks, static_cast<int>(ids_.size())),
        timeout_(timeout),
        deadline_(Deadline::after(timeout)),
        cancellation_(cancellation) {
    std::vector<std::byte> secrets;
    for (const UniqueId& id : ids_)
      secrets.insert(secrets.end(), id.secret.begin(), id.secret.end());
    base_ = derive(ids_.front().secret, "ids", {secrets});
  }

  std::unique_ptr<Bootstrap> run() {
    const int group = tree_.group_of(rank_);
    const bool is_leader = tree_.is_leader(rank_);
    if (is_leader && id_of(group).kind == UniqueId::Kind::kFixed) open_fixed(id_of(group));
    const bool is_fixed = id_of(group).kind == UniqueId::Kind::kFixed;
    const Interface interface =
        chosen_interface(is_fixed ? std::optional(id_of(group).address) : std::nullopt);
    Listener listener = listen_at(interface.address);
    const Address reachable = listener.address;
    auto member = std::make_unique<Member>(Member::Start{.rank = rank_,
                                                         .tree = tree_,
                                                         .base = base_,
                                                         .timeout = timeout_,
                                                         .listener = std::move(listener),
                                                         .cancellation = cancellation_});
    Welcome welcome = meet_group(*member, group, is_leader, reachable);
    if (is_leader && group != 0) {
      // The leaders meet at the first id, each for its group.
      welcome = meet(*member, 0, JoinRequest::Kind::kLeader, reachable);
    }
    if (rank_ != 0) connect_to_parent(*member, welcome, reachable);
    member->assemble(deadline_);
    return member;
  }

 private:
  [[nodiscard]] const UniqueId& id_of(int group) const {
    return ids_[static_cast<std::size_t>(group)];
  }

  /// NCCL_COMM_ID: the first rank of the group is who waits there.
  void open_fixed(const UniqueId& id) {
    // An earlier communicator's rendezvous at this address may be about to close.
    constexpr milliseconds kPatience{2000};
    const Deadline end = earlier(Deadline::after(kPatience), deadline_);
    while (true) {
      try {
        start_rendezvous(listen_at(id.address), id.secret, timeout_);
        return;
      } catch (const Error& error) {
        if (error.result() == ncclInvalidArgument) {
          throw Error(ncclInvalidArgument,
                      "NCCL_COMM_ID: {}; set it to an address of rank {}'s host", error.what(),
                      rank_);
        }
        if (end.expired()) throw;
      }
      wait_for(-1, 0, Deadline::after(milliseconds(10)), cancellation_);
    }
  }

  std::unique_ptr<Channel> connect_to_rendezvous(int group, const Address& self) {
    // Also where the patience has just ended and there is still something to tell.
    const Deadline end = deadline_.expired() ? Deadline::after(kLastWord) : deadline_;
    const UniqueId& id = id_of(group);
    const bool is_fixed = id.kind == UniqueId::Kind::kFixed;
    const Route route{.address = reachable_from(self, id.address),
                      .purpose = Purpose::kRendezvous,
                      .from = rank_,
                      .key = rendezvous_key(id.secret),
                      .server_nonce = std::nullopt,
                      .peer = fmt::format("the rendezvous at {}", id.address.to_string()),
                      .frame_limit = kRendezvousFrameLimit};
    // A rendezvous listens before its id is passed on, so one that refuses is over. A fixed one
    // opens whenever its rank starts.
    const Persistence persistence{.when_refused = is_fixed ? timeout_ : milliseconds(300),
                                  .when_hung_up = is_fixed ? timeout_ : milliseconds(10'000),
                                  .when_silent = milliseconds(30'000)};
    Connected connected = connect_along(route, persistence, end, cancellation_);
    if (connected.channel) return std::move(connected.channel);
    const bool is_over =
        connected.reason == Unreachable::kRefused || connected.reason == Unreachable::kForged;
    if (is_over && !is_fixed) throw_used(id.address);
    throw Error(ncclRemoteError, "Rank {} could not join: {}{}", rank_, connected.detail,
                is_fixed ? fmt::format("; rank {} is to listen there", tree_.first_of(group)) : "");
  }

  /// Waits at a group's rendezvous until all who are to come there have.
  Welcome meet(Member& member, int group, JoinRequest::Kind kind, const Address& self) {
    auto channel = connect_to_rendezvous(group, self);
    const milliseconds left = std::max(deadline_.remaining(), milliseconds(1));
    const JoinRequest request{.kind = kind,
                              .rank = static_cast<std::uint32_t>(rank_),
                              .ranks = static_cast<std::uint32_t>(tree_.ranks()),
                              .groups = static_cast<std::uint32_t>(tree_.groups()),
                              .group = static_cast<std::uint32_t>(group),
                              .ids = base_,
                              .patience = left,
                              .listener = self,
                              .place = fmt::format("{}:{}", host_name(), process_id())};
    channel->queue(FrameType::kJoin, encode(request));
    channel->flush();
    const Frame answer = wait_for_frame(*channel, Deadline::after(left + kLastWord));
    if (answer.type == FrameType::kFailure) {
      const Failure failure = decode_failure(answer.payload).value_or(Failure{});
      throw Error(failure.result, "{}", failure.sentence);
    }
    const auto welcome =
        answer.type == FrameType::kWelcome ? decode_welcome(answer.payload) : std::nullopt;
    if (!welcome) throw Error(ncclInternalError, "{} said something unexpected", channel->peer());
    member.watch_rendezvous(std::move(channel));
    return *welcome;
  }

  Frame wait_for_frame(Channel& channel, Deadline until) {
    while (true) {
      if (auto frame = channel.next()) return std::move(*frame);
      if (channel.ended()) {
        throw Error(
            ncclRemoteError,
            "{} ended before it heard rank {}: another rank failed or gave up, and says why",
            channel.peer(), rank_);
      }
      if (until.expired()) {
        throw Error(ncclRemoteError, "{} did not answer within {:.3g} s", channel.peer(),
                    std::chrono::duration<double>(timeout_).count());
      }
      channel.flush();
      wait_for(channel.fd(), POLLIN, until, cancellation_);
    }
  }

  /// The ranks of one id meet. Should they fail to, their leader lets the first id's rendezvous
  /// know, so that the other groups hear of it before their own patience ends.
  Welcome meet_group(Member& member, int group, bool is_leader, const Address& self) {
    try {
      return meet(member, group, JoinRequest::Kind::kMember, self);
    } catch (const Error& error) {
      if (is_leader && group != 0 && !cancellation_.cancelled()) tell_first_group(error, self);
      throw;
    }
  }

  void tell_first_group(const Error& error, const Address& self) {
    try {
      const auto channel = connect_to_rendezvous(0, self);
      channel->queue(FrameType::kFailure,
                     encode(Failure{.result = error.result(), .sentence = error.what()}));
      channel->flush();
    } catch (const Error& other) {
      // Then it is over already, or will find out by its own patience.
      log_info(log_subsystem::kBootstrap, "{}", other.what());
    }
  }

  void connect_to_parent(Member& member, const Welcome& welcome, const Address& self) {
    const int parent = tree_.parent(rank_);
    if (welcome.parent_rank != parent) {
      throw Error(ncclInternalError,
                  "The rendezvous named rank {} where rank {} is the parent of {}",
                  welcome.parent_rank, parent, rank_);
    }
    const Route route{.address = reachable_from(self, welcome.parent),
                      .purpose = Purpose::kTree,
                      .from = rank_,
                      .key = tree_key(base_),
                      .server_nonce = std::nullopt,
                      .peer = fmt::format("rank {}", parent),
                      .frame_limit = kMemberFrameLimit};
    constexpr Persistence kBriefly{.when_refused = milliseconds(100),
                                   .when_hung_up = milliseconds(300),
                                   .when_silent = milliseconds(30'000)};
    Connected connected = connect_along(route, kBriefly, deadline_, cancellation_);
    if (!connected.channel) {
      member.fail(
          ncclRemoteError,
          fmt::format("Rank {} ended, or cannot be reached from rank {}: {}; if a firewall stands "
                      "between, see RIPIENO_PORT_RANGE",
                      parent, rank_, connected.detail));
    }
    member.set_parent(std::move(connected.channel));
  }

  /// A link-local address is reached through our own interface, whatever its number was on the
  /// peer's host.
  static Address reachable_from(const Address& self, const Address& other) {
    return other.is_link_local() ? other.with_scope(self.scope()) : other;
  }

  std::vector<UniqueId> ids_;
  int rank_;
  Tree tree_;
  milliseconds timeout_;
  Deadline deadline_;
  const Cancellation& cancellation_;
  Key base_;
};

/// Under NCCL_COMM_ID all ids are the same one; others are good for one group each.
void drop_repeated(std::vector<UniqueId>& ids) {
  for (std::size_t at = ids.size() - 1; at > 0; --at) {
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::ranges::find(ids.begin(), end, ids[at].secret, &UniqueId::secret) == end) continue;
    if (ids[at].kind != UniqueId::Kind::kFixed) {
      throw Error(ncclInvalidArgument,
                  "Unique id number {} was passed twice; make one with ncclGetUniqueId for each",
                  at);
    }
    ids.erase(end);
  }
}

void check(std::span<const ncclUniqueId> ids, Membership membership) {
  if (membership.ranks < 1 || membership.rank < 0 || membership.rank >= membership.ranks) {
    throw Error(ncclInvalidArgument, "Rank {} of {} ranks: ranks are 0 to {}", membership.rank,
                membership.ranks, membership.ranks - 1);
  }
  if (ids.empty() || ids.size() > static_cast<std::size_t>(membership.ranks)) {
    throw Error(ncclInvalidArgument,
                "{} unique ids for {} ranks: pass 1 to as many as there are ranks", ids.size(),
                membership.ranks);
  }
}

}  // namespace

ncclUniqueId create_unique_id() {
  if (const std::string& comm_id = kCommId.value(); !comm_id.empty()) {
    return encode(fixed_id(comm_id, wanted_family()));
  }
  Listener listener = listen_at(chosen_interface(std::nullopt).address);
  const UniqueId id{
      .kind = UniqueId::Kind::kRendezvous, .address = listener.address, .secret = random_key()};
  log_info(log_subsystem::kBootstrap, "Rendezvous at {}", id.address.to_string());
  start_rendezvous(std::move(listener), id.secret, kInitTimeout.value());
  return encode(id);
}

void withdraw_unique_id(const ncclUniqueId& id) noexcept {
  if (const auto decoded = decode(id)) {
    dismiss_rendezvous(decoded->secret);
  }
}

std::unique_ptr<Bootstrap> join(std::span<const ncclUniqueId> ids, Membership membership,
                                std::chrono::milliseconds timeout,
                                const Cancellation& cancellation) {
  check(ids, membership);
  std::vector<UniqueId> decoded = decode_all(ids);
  drop_repeated(decoded);
  // The other groups' rendezvous may rightly be over by now; one's own needs this rank.
  const Tree tree(membership.ranks, static_cast<int>(decoded.size()));
  const UniqueId& own = decoded[static_cast<std::size_t>(tree.group_of(membership.rank))];
  const bool is_over = local_rendezvous(own.secret) == LocalRendezvous::kOver;
  if (own.kind == UniqueId::Kind::kRendezvous && is_over) throw_used(own.address);
  if (membership.ranks == 1) {
    dismiss_rendezvous(decoded.front().secret);
    return std::make_unique<Solitary>();
  }
  return Joining(std::move(decoded), membership, timeout, cancellation).run();
}

}  // namespace ripieno::bootstrap

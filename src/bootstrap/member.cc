// Exchanges go up the tree, each rank adding its subtree's contributions, and come down whole. A
// link that ends without a farewell is a rank that died: whoever sees it tells all its other
// neighbours, who tell theirs, so that the news crosses the tree as fast as ranks listen.
#include "bootstrap/member.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "bootstrap/connector.h"

namespace ripieno::bootstrap {
namespace {

using std::chrono::milliseconds;

/// When time runs out on all ranks at once, who stands nearer to the missing rank speaks first:
/// each level of the tree waits this much longer for better news.
constexpr milliseconds kGracePerLevel{150};

}  // namespace

Member::Member(Start start)
    : rank_(start.rank),
      tree_(start.tree),
      base_(start.base),
      timeout_(start.timeout),
      cancellation_(start.cancellation),
      listener_address_(start.listener.address),
      direct_nonce_(random_key()),
      acceptor_(
          std::move(start.listener.socket),
          {{.purpose = Purpose::kTree, .key = tree_key(base_), .frame_limit = kMemberFrameLimit},
           {.purpose = Purpose::kDirect,
            .key = direct_key(base_),
            .frame_limit = kMemberFrameLimit}},
          direct_nonce_),
      departed_(static_cast<std::size_t>(start.tree.ranks()), false) {
  for (const int child : tree_.children(rank_)) children_.push_back({.rank = child});
}

Member::~Member() {
  const auto leave = [](Channel& channel) {
    try {
      channel.queue(FrameType::kBye, {});
    } catch (const std::bad_alloc&) {
      return;  // The end of the connection says it as well.
    }
    channel.flush();
  };
  for_each_neighbour([&](Neighbour& neighbour) { leave(*neighbour.channel); });
  for (auto* directs : {&direct_out_, &direct_in_}) {
    for (auto& [peer, channel] : *directs) leave(*channel);
  }
  if (acceptor_.strangers() > 0) {
    log_info(log_subsystem::kBootstrap, "Rank {} dropped {} strangers at its listener", rank_,
             acceptor_.strangers());
  }
}

void Member::watch_rendezvous(std::unique_ptr<Channel> channel) {
  rendezvous_.push_back(std::move(channel));
}

void Member::set_parent(std::unique_ptr<Channel> channel) {
  parent_.emplace(Neighbour{.rank = tree_.parent(rank_), .channel = std::move(channel)});
}

void Member::assemble(Deadline deadline) {
  if (!wait_until([this] { return missing_children(false).empty(); }, deadline)) {
    const auto missing = missing_children(false);
    fail(ncclRemoteError, fmt::format("Rank {} waited in vain for ranks {} to connect", rank_,
                                      fmt::join(missing, ", ")));
  }
  introduce(deadline);
  // Everybody has links that will tell of a death; the rendezvous may go.
  for (const auto& channel : rendezvous_) {
    channel->queue(FrameType::kBye, {});
    channel->flush();
  }
  rendezvous_.clear();
}

void Member::introduce(Deadline deadline) {
  const Introduction mine{
      .listener = listener_address_, .direct_nonce = direct_nonce_, .salt = random_key()};
  const std::vector<std::byte> all = gather(encode(mine), deadline);
  std::vector<std::byte> salts;
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto bytes = std::span(all).subspan(
        static_cast<std::size_t>(rank) * Introduction::kEncodedBytes, Introduction::kEncodedBytes);
    const auto introduction = decode_introduction(bytes);
    if (!introduction) {
      fail(ncclInternalError,
           fmt::format("Rank {} introduced itself in a way that cannot be read", rank));
    }
    introductions_.push_back(*introduction);
    salts.insert(salts.end(), introduction->salt.begin(), introduction->salt.end());
  }
  secret_ = derive(base_, "communicator", {salts});
  const Key name = derive(secret_, "name");
  std::memcpy(&hash_, name.data(), sizeof(hash_));
}

// ---- Exchanges ----

std::vector<std::byte> Member::all_gather(std::span<const std::byte> mine) {
  return gather(mine, Deadline::after(timeout_));
}

void Member::barrier() {
  (void)gather({}, Deadline::after(timeout_));
}

std::vector<std::byte> Member::gather(std::span<const std::byte> mine, Deadline deadline) {
  check_usable();
  const auto all = static_cast<std::size_t>(ranks());
  if (mine.size() > kMemberFrameLimit / 2 / all) {
    throw Error(
        ncclInvalidArgument,
        "{} bytes of each of {} ranks are too much for the bootstrap, which takes {} MiB in all",
        mine.size(), all, kMemberFrameLimit / 2 >> 20);
  }
  Exchange exchange{.sequence = next_sequence_++,
                    .size = mine.size(),
                    .bytes = std::vector<std::byte>(all * mine.size()),
                    .present = std::vector<bool>(all, false)};
  const auto place = static_cast<std::size_t>(rank_);
  std::ranges::copy(mine,
                    exchange.bytes.begin() + static_cast<std::ptrdiff_t>(place * mine.size()));
  exchange.present[place] = true;
  collect_from_children(exchange, deadline);
  if (parent_) ask_parent(exchange, deadline);
  pass_down(exchange, deadline);
  return std::move(exchange.bytes);
}

void Member::collect_from_children(Exchange& exchange, Deadline deadline) {
  const auto complete = [this] {
    for (const Neighbour& child : children_) check_still_here(child);
    return missing_children(true).empty();
  };
  if (!wait_until(complete, deadline)) {
    const Deadline last = Deadline::after(grace_for(missing_children(true)));
    if (!wait_until(complete, last)) {
      fail(ncclRemoteError,
           fmt::format("Exchange {} of the bootstrap: after {:.3g} s ranks have yet to come: {}",
                       exchange.sequence, std::chrono::duration<double>(timeout_).count(),
                       fmt::join(missing_children(true), ", ")));
    }
  }
  for (Neighbour& child : children_) {
    const Frame frame = std::move(child.frames.front());
    child.frames.pop_front();
    std::vector<bool> below(exchange.present.size(), false);
    for (const int rank : tree_.subtree(child.rank)) below[static_cast<std::size_t>(rank)] = true;
    take(exchange, frame, child.rank, below);
  }
}

void Member::ask_parent(Exchange& exchange, Deadline deadline) {
  if (parent_->channel) parent_->channel->queue(FrameType::kGather, encoded(exchange));
  const auto answered = [this] {
    check_still_here(*parent_);
    return !parent_->frames.empty();
  };
  if (!wait_until(answered, deadline)) {
    const Deadline last = Deadline::after(kGracePerLevel * (tree_.height(0) + 1));
    if (!wait_until(answered, last)) {
      fail(ncclRemoteError,
           fmt::format("Exchange {} of the bootstrap: rank {} did not answer within {:.3g} s",
                       exchange.sequence, parent_->rank,
                       std::chrono::duration<double>(timeout_).count()));
    }
  }
  const Frame frame = std::move(parent_->frames.front());
  parent_->frames.pop_front();
  exchange.present.assign(exchange.present.size(), false);
  take(exchange, frame, parent_->rank, std::vector<bool>(exchange.present.size(), true));
}

void Member::pass_down(const Exchange& exchange, Deadline deadline) {
  if (children_.empty()) return;
  const std::vector<std::byte> payload = encoded(exchange);
  for (Neighbour& child : children_) {
    if (child.channel) child.channel->queue(FrameType::kGathered, payload);
  }
  const auto flushed = [this] {
    return std::ranges::all_of(children_, [](const Neighbour& child) {
      return !child.channel || child.channel->flushed();
    });
  };
  if (!wait_until(flushed, deadline)) {
    fail(ncclRemoteError,
         fmt::format("Exchange {} of the bootstrap: ranks below {} do not take the result",
                     exchange.sequence, rank_));
  }
}

/// Enters the contributions of a frame, which must be those of the `expected` ranks.
void Member::take(Exchange& exchange, const Frame& frame, int from,
                  const std::vector<bool>& expected) {
  const auto gathered = decode_gather(frame.payload);
  if (!gathered) {
    fail(ncclInternalError, fmt::format("Rank {} sent an exchange that cannot be read", from));
  }
  if (gathered->sequence != exchange.sequence || gathered->size != exchange.size) {
    fail(ncclInvalidUsage,
         fmt::format(
             "Ranks are out of step: rank {} is in exchange {} with {} bytes a rank, rank {} "
             "in exchange {} with {}",
             from, gathered->sequence, gathered->size, rank_, exchange.sequence, exchange.size));
  }
  const auto enter = [&](const Gather::Contribution& contribution) {
    if (contribution.rank >= expected.size() || !expected[contribution.rank]) return false;
    if (exchange.present[contribution.rank]) return false;
    exchange.present[contribution.rank] = true;
    std::ranges::copy(
        contribution.bytes,
        exchange.bytes.begin() + static_cast<std::ptrdiff_t>(contribution.rank * exchange.size));
    return true;
  };
  const auto count = static_cast<std::size_t>(std::ranges::count(expected, true));
  if (gathered->contributions.size() != count ||
      !std::ranges::all_of(gathered->contributions, enter)) {
    fail(ncclInternalError, fmt::format("Rank {} sent contributions of the wrong ranks", from));
  }
}

std::vector<std::byte> Member::encoded(const Exchange& exchange) const {
  Gather gathered{.sequence = exchange.sequence,
                  .size = static_cast<std::uint32_t>(exchange.size),
                  .contributions = {}};
  for (std::size_t rank = 0; rank < exchange.present.size(); ++rank) {
    if (!exchange.present[rank]) continue;
    gathered.contributions.push_back(
        {.rank = static_cast<std::uint32_t>(rank),
         .bytes = std::span(exchange.bytes).subspan(rank * exchange.size, exchange.size)});
  }
  return encode(gathered);
}

// ---- Messages ----

void Member::send(int peer, std::uint64_t tag, std::span<const std::byte> message) {
  check_usable();
  check_peer(peer);
  if (peer == rank_) {
    mailbox_[{peer, tag}].emplace_back(message.begin(), message.end());
    return;
  }
  const Deadline deadline = Deadline::after(timeout_);
  ByteWriter writer;
  writer.number(tag);
  writer.raw(message);
  direct_channel(peer, deadline).queue(FrameType::kMessage, writer.bytes());
  const auto sent = [this, peer] {
    const auto found = direct_out_.find(peer);
    return found == direct_out_.end() || found->second->flushed();
  };
  if (!wait_until(sent, deadline)) {
    fail(ncclRemoteError, fmt::format("Rank {} did not take a message within {:.3g} s", peer,
                                      std::chrono::duration<double>(timeout_).count()));
  }
  if (!direct_out_.contains(peer)) throw_death(peer);
}

std::vector<std::byte> Member::receive(int peer, std::uint64_t tag) {
  check_usable();
  check_peer(peer);
  const std::pair key{peer, tag};
  const auto arrived = [this, key] {
    return mailbox_.contains(key) || departed_[static_cast<std::size_t>(key.first)];
  };
  if (!wait_until(arrived, Deadline::after(timeout_))) {
    fail(ncclRemoteError, fmt::format("Rank {} sent no message {} within {:.3g} s", peer, tag,
                                      std::chrono::duration<double>(timeout_).count()));
  }
  const auto found = mailbox_.find(key);
  if (found == mailbox_.end()) throw_death(peer);
  std::vector<std::byte> message = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) mailbox_.erase(found);
  return message;
}

Channel& Member::direct_channel(int peer, Deadline deadline) {
  if (const auto found = direct_out_.find(peer); found != direct_out_.end()) return *found->second;
  const Introduction& other = introductions_[static_cast<std::size_t>(peer)];
  const Route route{.address = other.listener.is_link_local()
                                   ? other.listener.with_scope(listener_address_.scope())
                                   : other.listener,
                    .purpose = Purpose::kDirect,
                    .from = rank_,
                    .key = direct_key(base_),
                    .server_nonce = other.direct_nonce,
                    .peer = fmt::format("rank {}", peer),
                    .frame_limit = kMemberFrameLimit};
  constexpr Persistence kBriefly{.when_refused = milliseconds(100),
                                 .when_hung_up = milliseconds(500),
                                 .when_silent = milliseconds(30'000)};
  Connected connected = connect_along(route, kBriefly, deadline, cancellation_);
  if (!connected.channel) {
    fail(ncclRemoteError, fmt::format("Rank {} cannot be reached: {}", peer, connected.detail));
  }
  return *direct_out_.emplace(peer, std::move(connected.channel)).first->second;
}

// ---- Waiting ----

bool Member::wait_until(const Condition& condition, Deadline deadline) {
  advance_all();
  while (!condition()) {
    if (deadline.expired()) return false;
    move_on(deadline);
  }
  return true;
}

void Member::move_on(Deadline deadline) {
  std::vector<pollfd> watched{{.fd = cancellation_.fd(), .events = POLLIN, .revents = 0}};
  acceptor_.watch(watched);
  const auto watch = [&watched](const Channel& channel) {
    const short events = channel.flushed() ? POLLIN : POLLIN | POLLOUT;
    watched.push_back({.fd = channel.fd(), .events = events, .revents = 0});
  };
  for (const auto& channel : rendezvous_) watch(*channel);
  for_each_neighbour([&](const Neighbour& neighbour) { watch(*neighbour.channel); });
  for (const auto& [peer, channel] : direct_out_) watch(*channel);
  for (const auto& [peer, channel] : direct_in_) watch(*channel);
  const Deadline until = earlier(deadline, acceptor_.due());
  if (::poll(watched.data(), watched.size(), until.poll_timeout()) < 0 && errno != EINTR) {
    throw Error::system("The bootstrap could not wait", errno);
  }
  if (cancellation_.cancelled()) throw_cancelled();
  advance_all();
}

void Member::advance_all() {
  for (Guest& guest : acceptor_.advance()) greet(std::move(guest));
  for_each_neighbour([this](Neighbour& neighbour) {
    neighbour.channel->flush();
    hear(neighbour);
  });
  // After the neighbours: what they say of a death is nearer to it.
  for (const auto& channel : rendezvous_) hear_rendezvous(*channel);
  for (auto* directs : {&direct_out_, &direct_in_}) {
    for (auto entry = directs->begin(); entry != directs->end();) {
      entry->second->flush();
      const int peer = entry->first;
      const Directly state = hear_direct(peer, *entry->second);
      entry = state == Directly::kOpen ? std::next(entry) : directs->erase(entry);
      if (state == Directly::kDied) throw_death(peer);
    }
  }
}

/// A rank that has proved to be one of ours takes its place. A second one of the same number cannot
/// be honest, and the first keeps the place.
void Member::greet(Guest guest) {
  if (guest.from >= ranks() || guest.from == rank_) return;
  if (guest.purpose == Purpose::kDirect) {
    direct_in_.try_emplace(guest.from, std::move(guest.channel));
    return;
  }
  const auto child = std::ranges::find(children_, guest.from, &Neighbour::rank);
  if (child != children_.end() && !child->channel && !child->left) {
    child->channel = std::move(guest.channel);
  }
}

/// The next frame; bytes that cannot be believed end the communicator.
std::optional<Frame> Member::next_of(Channel& channel, int source) {
  try {
    return channel.next();
  } catch (const Error& error) {
    fail_from(source, {.result = error.result(), .sentence = error.what()});
  }
}

void Member::hear(Neighbour& neighbour) {
  while (neighbour.channel) {
    std::optional<Frame> frame = next_of(*neighbour.channel, neighbour.rank);
    if (!frame) {
      if (neighbour.channel->ended()) {
        neighbour.channel.reset();
        if (!neighbour.left) throw_death(neighbour.rank);
      }
      return;
    }
    const FrameType expected =
        parent_ && &neighbour == &*parent_ ? FrameType::kGathered : FrameType::kGather;
    if (frame->type == FrameType::kBye) {
      neighbour.left = true;
      departed_[static_cast<std::size_t>(neighbour.rank)] = true;
    } else if (frame->type == FrameType::kFailure) {
      fail_from(neighbour.rank, decode_failure(frame->payload).value_or(Failure{}));
    } else if (frame->type == expected) {
      neighbour.frames.push_back(std::move(*frame));
    } else {
      fail(ncclInternalError,
           fmt::format("Rank {} sent a message that does not belong here", neighbour.rank));
    }
  }
}

void Member::hear_rendezvous(Channel& channel) {
  const std::optional<Frame> frame = next_of(channel, -1);
  if (frame && frame->type == FrameType::kFailure) {
    fail_from(-1, decode_failure(frame->payload).value_or(Failure{}));
  }
  if (!frame && channel.ended()) {
    fail(ncclRemoteError,
         "The process that made the unique id ended before all ranks had connected");
  }
}

Member::Directly Member::hear_direct(int peer, Channel& channel) {
  auto departed = departed_[static_cast<std::size_t>(peer)];
  while (true) {
    const std::optional<Frame> frame = next_of(channel, peer);
    if (!frame) {
      if (!channel.ended()) return Directly::kOpen;
      const Directly end = departed ? Directly::kLeft : Directly::kDied;
      departed = true;
      return end;
    }
    ByteReader reader(frame->payload);
    if (frame->type == FrameType::kBye) {
      departed = true;  // Its end may come in a later call.
    } else if (const auto tag = reader.number<std::uint64_t>();
               frame->type == FrameType::kMessage && reader.good()) {
      const auto rest = reader.rest();
      mailbox_[{peer, tag}].emplace_back(rest.begin(), rest.end());
    }
  }
}

// ---- Failing ----

void Member::fail(ncclResult_t result, std::string sentence) {
  fail_from(-1, {.result = result, .sentence = std::move(sentence)});
}

void Member::fail_from(int source, const Failure& failure) {
  failure_ = failure;
  const std::vector<std::byte> payload = encode(failure);
  for (const auto& channel : rendezvous_) {
    channel->queue(FrameType::kFailure, payload);
    channel->flush();
  }
  for_each_neighbour([&](Neighbour& neighbour) {
    if (neighbour.rank == source) return;
    neighbour.channel->queue(FrameType::kFailure, payload);
    neighbour.channel->flush();
  });
  throw Error(failure.result, "{}", failure.sentence);
}

void Member::throw_death(int rank) {
  fail(ncclRemoteError,
       fmt::format("Rank {} ended or lost its connection during the bootstrap", rank));
}

/// A rank that has left in order, and nothing of it is left to take, will never contribute.
void Member::check_still_here(const Neighbour& neighbour) {
  if (!neighbour.left || !neighbour.frames.empty()) return;
  fail(ncclRemoteError, fmt::format("Rank {} has left the communicator", neighbour.rank));
}

void Member::check_usable() const {
  if (cancellation_.cancelled()) throw_cancelled();
  if (failure_) throw Error(failure_->result, "{}", failure_->sentence);
}

void Member::check_peer(int peer) const {
  if (peer < 0 || peer >= ranks()) {
    throw Error(ncclInvalidArgument, "There is no rank {}; ranks are 0 to {}", peer, ranks() - 1);
  }
}

/// Children that have yet to connect, or (`frames`) to contribute. One that has left never will.
std::vector<int> Member::missing_children(bool frames) const {
  std::vector<int> missing;
  for (const Neighbour& child : children_) {
    if (frames ? child.frames.empty() : !child.channel) missing.push_back(child.rank);
  }
  return missing;
}

milliseconds Member::grace_for(const std::vector<int>& ranks) const {
  int highest = 0;
  for (const int rank : ranks) highest = std::max(highest, tree_.height(rank));
  return kGracePerLevel * highest;
}

/// Neighbours that are connected.
template <typename Visit>
void Member::for_each_neighbour(Visit visit) {
  if (parent_ && parent_->channel) visit(*parent_);
  for (Neighbour& child : children_) {
    if (child.channel) visit(child);
  }
}

}  // namespace ripieno::bootstrap

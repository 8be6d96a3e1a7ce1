// One-shot, direct and staged collectives. See host_algorithms.h for when each is used.
#include <algorithm>
#include <exception>

#include "base/error.h"
#include "coll/exchange.h"
#include "coll/host_algorithms.h"

namespace ripieno::coll {
namespace {

using transport::Announcement;
using transport::BufferRef;
using transport::HostTeam;

/// Lets a schedule wait for another one that it has become part of.
class Continuation final : public Waiting {
 public:
  explicit Continuation(Schedule next) noexcept : next_(std::move(next)) {}
  [[nodiscard]] bool ready() noexcept override {
    try {
      return next_.poll();
    } catch (...) {
      failure_ = std::current_exception();
      return true;
    }
  }
  [[nodiscard]] bool waits_for(int rank) const noexcept override {
    return next_.waiting() != nullptr && next_.waiting()->waits_for(rank);
  }
  void await_resume() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  Schedule next_;
  std::exception_ptr failure_;
};

/// Copies elements `piece` of every block of this rank's input to `to`, packed.
void pack(const Exchange& exchange, const Operation& operation, Range piece, std::byte* to) {
  const std::size_t bytes = piece.size() * exchange.element_bytes();
  // Streaming past the cache saves the read for ownership over the core-to-core link
  // (docs/benchmarks.md).
  const Store store = bytes >= (std::size_t{16} << 10) ? Store::kStreaming : Store::kCached;
  for (int block = 0; block < exchange.blocks_in(); ++block) {
    const auto b = static_cast<std::size_t>(block);
    copy(to + b * bytes,
         operation.send + b * exchange.block_bytes() + piece.begin * exchange.element_bytes(),
         bytes, store);
  }
}

/// Points `base` at what every rank packed for `phase`.
template <typename AreaOf>
Sources packed_sources(HostTeam& team, std::size_t piece_bytes, AreaOf area_of) {
  const std::span<const std::byte*> base = team.input_room();
  for (int rank = 0; rank < team.ranks(); ++rank) {
    base[static_cast<std::size_t>(rank)] = area_of(rank);
  }
  return {base, piece_bytes};
}

/// A reduction into whole buffers costs ranks x ranks reads if everyone reduces everything: from
/// three ranks up the ranks share the work of a piece and then collect each other's results.
bool shares_work(const Exchange& exchange, int ranks) {
  return exchange.shape().reduces && !exchange.shape().many_in && ranks > 2;
}

Schedule staged(HostTeam& team, const Operation& operation, const Exchange& exchange) {
  const std::size_t block_capacity = transport::kStagingBytes / exchange.element_bytes() /
                                     static_cast<std::size_t>(exchange.blocks_in());
  // Whole cache lines while a piece has any.
  const std::size_t lines = block_capacity / 64 * 64;
  const std::size_t step = lines != 0 ? lines : block_capacity;
  for (std::size_t begin = 0; begin < operation.count; begin += step) {
    const Range piece{begin, std::min(begin + step, operation.count)};
    std::uint64_t phase = team.next_phase();
    if (exchange.is_source()) {
      pack(exchange, operation, piece, team.page().staging(team.rank(), phase));
    }
    team.enter();
    co_await team.everyone_in(phase);
    const Sources sources =
        packed_sources(team, piece.size() * exchange.element_bytes(),
                       [&](int rank) { return team.page().staging(rank, phase); });
    if (!shares_work(exchange, team.ranks())) {
      exchange.deliver(sources, piece);
      continue;
    }

    // Reduce this rank's share of the piece into the other parity's area, then collect all shares.
    const Range whole{0, piece.size()};
    const Range mine = exchange.share(whole, team.rank());
    for (const std::byte*& base : sources.base) {
      base += mine.begin * exchange.element_bytes();
    }
    std::byte* const result = team.page().staging(team.rank(), phase + 1);
    exchange.reduce_inputs(sources.base, {&result, 1}, mine.size());
    phase = team.enter();
    co_await team.everyone_in(phase);
    for (int rank = 0; rank < team.ranks() && exchange.is_sink(); ++rank) {
      const Range theirs = exchange.share(whole, rank);
      copy(operation.receive + (piece.begin + theirs.begin) * exchange.element_bytes(),
           team.page().staging(rank, phase), theirs.size() * exchange.element_bytes(),
           exchange.store());
    }
  }
  // No closing phase: the announcement of the next collective lies between these pieces and the
  // next to fill an area.
}

/// What peers touch in place: inputs where outputs are pulled, outputs where owners push.
Exposed exposed_buffers(const Exchange& exchange, const Operation& operation) {
  const Shape& shape = exchange.shape();
  const bool shared_reduction = shape.reduces && !shape.many_in;
  const bool pushed = shape.many_out && shape.root_sink;
  Exposed exposed;
  if (exchange.is_source() && !pushed) {
    exposed.send = operation.send;
  }
  if (exchange.is_sink() && (shared_reduction || pushed)) {
    exposed.receive = operation.receive;
  }
  // Peers would read blocks that this rank already overwrites.
  exposed.must_stage = shape.many_in && shape.many_out && operation.send == operation.receive;
  return exposed;
}

bool all_in_place(const HostTeam& team, std::uint64_t phase) {
  for (int rank = 0; rank < team.ranks(); ++rank) {
    const Announcement& announcement = team.slot(rank, phase).announcement;
    const bool shareable = announcement.send_kind != BufferRef::Kind::kPrivate &&
                           announcement.receive_kind != BufferRef::Kind::kPrivate;
    if (announcement.must_stage != 0 || !(shareable || team.one_process())) {
      return false;
    }
  }
  return true;
}

std::byte* peer_receive(const HostTeam& team, std::uint64_t phase, int rank, std::size_t bytes) {
  const Announcement& announcement = team.slot(rank, phase).announcement;
  return team.resolve(rank, announcement.receive_kind, announcement.receive, bytes);
}

const std::byte* peer_send(const HostTeam& team, std::uint64_t phase, int rank, std::size_t bytes) {
  const Announcement& announcement = team.slot(rank, phase).announcement;
  return team.resolve(rank, announcement.send_kind, announcement.send, bytes);
}

/// All-reduce and reduce: this rank owns a slice, reads it from all and writes it to all (to the
/// root).
void reduce_own_slice(HostTeam& team, const Operation& operation, const Exchange& exchange,
                      std::uint64_t phase) {
  const Range mine = exchange.share({0, operation.count}, team.rank());
  const std::size_t offset = mine.begin * exchange.element_bytes();
  const std::span<const std::byte*> inputs = team.input_room();
  const std::span<std::byte*> outputs = team.output_room();
  std::size_t sinks = 0;
  for (int rank = 0; rank < team.ranks(); ++rank) {
    inputs[static_cast<std::size_t>(rank)] =
        peer_send(team, phase, rank, exchange.block_bytes()) + offset;
    if (exchange.shape().is_sink(rank, operation.root)) {
      outputs[sinks++] = peer_receive(team, phase, rank, exchange.block_bytes()) + offset;
    }
  }
  exchange.reduce_inputs(inputs, outputs.first(sinks), mine.size());
}

/// Gather: every rank writes its block into the root's output.
void push_own_block(HostTeam& team, const Operation& operation, const Exchange& exchange,
                    std::uint64_t phase) {
  const auto ranks = static_cast<std::size_t>(team.ranks());
  std::byte* const root = peer_receive(team, phase, operation.root, ranks * exchange.block_bytes());
  copy(root + static_cast<std::size_t>(team.rank()) * exchange.block_bytes(), operation.send,
       exchange.block_bytes(), exchange.store());
}

/// The other collectives: this rank reads what it receives from the peers' inputs.
void pull_blocks(HostTeam& team, const Operation& operation, const Exchange& exchange,
                 std::uint64_t phase) {
  const std::span<const std::byte*> base = team.input_room();
  const std::size_t bytes = exchange.block_bytes() * static_cast<std::size_t>(exchange.blocks_in());
  for (int rank = 0; rank < team.ranks(); ++rank) {
    base[static_cast<std::size_t>(rank)] = exchange.shape().is_source(rank, operation.root)
                                               ? peer_send(team, phase, rank, bytes)
                                               : nullptr;
  }
  exchange.deliver({base, exchange.block_bytes()}, {0, operation.count});
}

}  // namespace

std::size_t input_bytes(const Operation& operation, int ranks) noexcept {
  return operation.count * type_size(operation.type) *
         static_cast<std::size_t>(shape_of(operation.function).blocks_in(ranks));
}

Schedule one_shot(HostTeam& team, const Operation& operation, std::uint64_t sequence) {
  Exchange exchange(operation, team.rank(), team.ranks());
  const std::uint64_t phase = team.next_phase();
  const bool fits_slot = input_bytes(operation, team.ranks()) <= transport::kArrivalInlineBytes;
  const auto area_of = [&](int rank) {
    return fits_slot ? team.slot(rank, phase).small.data() : team.page().one_shot(rank, phase);
  };
  const Range all{0, operation.count};
  if (exchange.is_source()) {
    pack(exchange, operation, all, area_of(team.rank()));
  }
  sign(team, operation);
  if (exchange.needs_scalars()) {
    announce(team, operation, sequence, {});
  }
  team.enter();
  co_await team.everyone_in(phase);
  if (!all_agree(team, phase)) {
    Continuation explanation(explain_disagreement(team, operation, sequence));
    co_await explanation;
  }
  exchange.learn_scalars(team, phase);
  exchange.deliver(packed_sources(team, exchange.block_bytes(), area_of), all);
}

Schedule direct(HostTeam& team, const Operation& operation, std::uint64_t sequence) {
  Exchange exchange(operation, team.rank(), team.ranks());
  sign(team, operation);
  announce(team, operation, sequence, exposed_buffers(exchange, operation));
  const std::uint64_t arrival = team.enter();
  co_await team.everyone_in(arrival);
  if (!all_agree(team, arrival)) {
    Continuation explanation(explain_disagreement(team, operation, sequence));
    co_await explanation;
  }
  exchange.learn_scalars(team, arrival);

  if (!all_in_place(team, arrival)) {
    Continuation rest(staged(team, operation, exchange));
    co_await rest;
    co_return;
  }
  co_await team.may_reach(HostTeam::kEveryone);
  {
    const HostTeam::Reach reach(team);
    if (exchange.shape().reduces && !exchange.shape().many_in) {
      reduce_own_slice(team, operation, exchange, arrival);
    } else if (exchange.shape().many_out && exchange.shape().root_sink) {
      push_own_block(team, operation, exchange, arrival);
    } else {
      pull_blocks(team, operation, exchange, arrival);
    }
  }
  const std::uint64_t completion = team.enter();
  co_await team.everyone_in(completion);
}

void run_alone(const Operation& operation) {
  const Exchange exchange(operation, 0, 1);
  const std::byte* base = operation.send;
  exchange.deliver({{&base, 1}, exchange.block_bytes()}, {0, operation.count});
}

}  // namespace ripieno::coll

// Announcements, and the one place that knows how each collective maps inputs to outputs.
#include "coll/exchange.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/parameters.h"

namespace ripieno::coll {
namespace {

using transport::Announcement;
using transport::BufferRef;
using transport::HostTeam;

constexpr SizeParameter kStreamingBytes{"RIPIENO_STREAMING_BYTES"};

/// Mixes the parts that all ranks must agree on (the finaliser of splitmix64).
std::uint64_t mix(std::uint64_t seed, std::uint64_t value) noexcept {
  std::uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t signature_of(const Operation& operation) noexcept {
  const Shape shape = shape_of(operation.function);
  std::uint64_t signature =
      mix(static_cast<std::uint64_t>(operation.function) + 1, operation.count);
  signature = mix(signature, static_cast<std::uint64_t>(operation.type));
  signature = mix(signature, shape.reduces ? static_cast<std::uint64_t>(operation.reduce) : 0);
  return mix(signature,
             has_root(operation.function) ? static_cast<std::uint64_t>(operation.root) : 0);
}

std::string describe(int rank, const Announcement& announcement) {
  const auto function = static_cast<Function>(announcement.function);
  std::string text = fmt::format("rank {} called {} #{} (count {}, {}", rank,
                                 function_name(function), announcement.sequence, announcement.count,
                                 type_name(static_cast<ncclDataType_t>(announcement.type)));
  if (shape_of(function).reduces) {
    text += fmt::format(", {}", reduce_name(static_cast<ReduceKind>(announcement.operation)));
  }
  if (has_root(function)) {
    text += fmt::format(", root {}", announcement.root);
  }
  return text + ")";
}

/// Scratch of one input where every rank brings its own factor.
constexpr std::size_t kScratchBytes = std::size_t{8} << 10;

}  // namespace

void sign(HostTeam& team, const Operation& operation) {
  team.slot(team.rank(), team.next_phase()).signature = signature_of(operation);
}

void announce(HostTeam& team, const Operation& operation, std::uint64_t sequence,
              const Exposed& exposed) {
  transport::ArrivalSlot& slot = team.slot(team.rank(), team.next_phase());
  const BufferRef send = team.refer_to(exposed.send);
  const BufferRef receive = team.refer_to(exposed.receive);
  slot.announcement = {.count = operation.count,
                       .scalar = operation.scalar,
                       .send = send.value,
                       .receive = receive.value,
                       .sequence = sequence,
                       .root = operation.root,
                       .function = static_cast<std::uint8_t>(operation.function),
                       .type = static_cast<std::uint8_t>(operation.type),
                       .operation = static_cast<std::uint8_t>(operation.reduce),
                       .send_kind = send.kind,
                       .receive_kind = receive.kind,
                       .must_stage = static_cast<std::uint8_t>(exposed.must_stage),
                       .unused = {}};
}

bool all_agree(const HostTeam& team, std::uint64_t phase) noexcept {
  const std::uint64_t mine = team.slot(team.rank(), phase).signature;
  for (int rank = 0; rank < team.ranks(); ++rank) {
    if (team.slot(rank, phase).signature != mine) {
      return false;
    }
  }
  return true;
}

Schedule explain_disagreement(HostTeam& team, const Operation& operation, std::uint64_t sequence) {
  sign(team, operation);
  announce(team, operation, sequence, {});
  const std::uint64_t phase = team.enter();
  co_await team.everyone_in(phase);
  const transport::ArrivalSlot& mine = team.slot(team.rank(), phase);
  for (int rank = 0; rank < team.ranks(); ++rank) {
    const transport::ArrivalSlot& theirs = team.slot(rank, phase);
    if (theirs.signature != mine.signature) {
      throw Error(ncclInvalidUsage,
                  "ranks disagree: {}, but {}; every rank of a communicator must call the same "
                  "collectives in the same order with equal arguments",
                  describe(team.rank(), mine.announcement), describe(rank, theirs.announcement));
    }
  }
}

Exchange::Exchange(const Operation& operation, int rank, int ranks)
    : operation_(operation),
      shape_(shape_of(operation.function)),
      rank_(rank),
      ranks_(ranks),
      element_bytes_(type_size(operation.type)),
      store_(Store::kCached) {
  // Every rank's blocks are read and written about once.
  const std::size_t blocks = std::max(shape_.blocks_in(ranks), shape_.blocks_out(ranks));
  const std::size_t touched = block_bytes() * blocks * static_cast<std::size_t>(ranks);
  if (touched >= static_cast<std::size_t>(kStreamingBytes.value())) {
    store_ = Store::kStreaming;
  }
}

void Exchange::learn_scalars(const HostTeam& team, std::uint64_t phase) {
  if (!needs_scalars()) {
    return;
  }
  bool differ = false;
  for (int rank = 0; rank < ranks_; ++rank) {
    differ |= team.slot(rank, phase).announcement.scalar != operation_.scalar;
  }
  if (differ) {
    scalars_.resize(static_cast<std::size_t>(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) {
      scalars_[static_cast<std::size_t>(rank)] = team.slot(rank, phase).announcement.scalar;
    }
  }
}

Range Exchange::share(Range piece, int rank) const noexcept {
  const Range range = slice(piece.size(), rank, ranks_, 64 / element_bytes_);
  return {piece.begin + range.begin, piece.begin + range.end};
}

void Exchange::deliver(const Sources& sources, Range piece) const {
  if (!is_sink()) {
    return;
  }
  const std::size_t for_me =
      shape_.many_in ? static_cast<std::size_t>(rank_) * sources.block_stride : 0;
  const std::size_t bytes = piece.size() * element_bytes_;
  std::byte* const out = operation_.receive + piece.begin * element_bytes_;
  if (shape_.reduces) {
    for (const std::byte*& base : sources.base) {
      base += for_me;
    }
    reduce_inputs(sources.base, {&out, 1}, piece.size());
  } else if (shape_.many_out) {
    // Each rank starts with its own block, so that ranks do not all read from the same peer at
    // once.
    for (int step = 0; step < ranks_; ++step) {
      const auto from = static_cast<std::size_t>((rank_ + step) % ranks_);
      copy(out + from * block_bytes(), sources.base[from] + for_me, bytes, store_);
    }
  } else {
    copy(out, sources.base[static_cast<std::size_t>(operation_.root)] + for_me, bytes, store_);
  }
}

void Exchange::reduce_inputs(std::span<const std::byte* const> inputs,
                             std::span<std::byte* const> outputs, std::size_t count) const {
  const Reduction reduction{.type = operation_.type,
                            .kind = operation_.reduce,
                            .ranks = ranks_,
                            .scalar = operation_.scalar};
  if (scalars_.empty()) {
    reduce(reduction, inputs, outputs, count, store_);
    return;
  }
  // Every rank brought its own factor: multiply each input into scratch and add, block by block.
  const Reduction sum{
      .type = operation_.type, .kind = ReduceKind::kSum, .ranks = ranks_, .scalar = 0};
  const std::size_t block = kScratchBytes / element_bytes_;
  std::vector<std::byte> scratch(inputs.size() * kScratchBytes);
  std::vector<const std::byte*> scaled(inputs.size());
  std::vector<std::byte*> targets(outputs.begin(), outputs.end());
  for (std::size_t done = 0; done < count; done += block) {
    const std::size_t now = std::min(block, count - done);
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      Reduction factor = reduction;
      factor.scalar = scalars_[rank];
      const std::byte* const input = inputs[rank] + done * element_bytes_;
      std::byte* const target = scratch.data() + rank * kScratchBytes;
      reduce(factor, {&input, 1}, {&target, 1}, now, Store::kCached);
      scaled[rank] = target;
    }
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      targets[output] = outputs[output] + done * element_bytes_;
    }
    reduce(sum, scaled, targets, now, store_);
  }
}

}  // namespace ripieno::coll

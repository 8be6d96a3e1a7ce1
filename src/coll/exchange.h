// What the host algorithms share: announcing an operation, comparing announcements, and delivering
// a piece of a collective from wherever the ranks' inputs lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/schedule.h"
#include "coll/operation.h"
#include "coll/partition.h"
#include "transport/host_team.h"

namespace ripieno::coll {

/// The buffers of a rank that its peers will touch; nullptr where they will not.
struct Exposed {
  const std::byte* send = nullptr;
  const std::byte* receive = nullptr;
  /// The rank's own layout (in place) rules out that peers read its input while it writes its
  /// output.
  bool must_stage = false;
};

/// Writes into this rank's slot of the next phase the hash of what all ranks must agree on.
void sign(transport::HostTeam& team, const Operation& operation);
/// Writes the announcement beside it: a second cache line that small operations do without.
void announce(transport::HostTeam& team, const Operation& operation, std::uint64_t sequence,
              const Exposed& exposed);

/// Whether all ranks signed `phase` alike. If not, every rank sees it, and all of them go on to
/// explain().
[[nodiscard]] bool all_agree(const transport::HostTeam& team, std::uint64_t phase) noexcept;
/// One more phase in which all ranks announce in full; then throws Error (ncclInvalidUsage) naming
/// both sides' values.
[[nodiscard]] Schedule explain_disagreement(transport::HostTeam& team, const Operation& operation,
                                            std::uint64_t sequence);

/// Where the inputs of all ranks lie for one piece: block b of rank r starts at base[r] + b *
/// block_stride.
struct Sources {
  std::span<const std::byte*> base;
  std::size_t block_stride;
};

/// One collective on its way: moves pieces of it once the inputs can be read.
class Exchange {
 public:
  Exchange(const Operation& operation, int rank, int ranks);

  /// Whether ranks may bring factors of their own, which then have to be announced.
  [[nodiscard]] bool needs_scalars() const noexcept {
    return shape_.reduces && operation_.reduce == ReduceKind::kPreMulSum;
  }
  /// Takes over the factors of kPreMulSum that the ranks announced for `phase`, where they differ.
  void learn_scalars(const transport::HostTeam& team, std::uint64_t phase);

  /// Writes elements `piece` of every block that this rank receives into its own output. Overwrites
  /// sources.base.
  void deliver(const Sources& sources, Range piece) const;

  /// Reduces `count` elements of inputs[0..ranks) in rank order into every output.
  void reduce_inputs(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                     std::size_t count) const;

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t element_bytes() const noexcept { return element_bytes_; }
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return operation_.count * element_bytes_;
  }
  [[nodiscard]] bool is_source() const noexcept { return shape_.is_source(rank_, operation_.root); }
  [[nodiscard]] bool is_sink() const noexcept { return shape_.is_sink(rank_, operation_.root); }
  [[nodiscard]] int blocks_in() const noexcept { return shape_.blocks_in(ranks_); }
  /// Past the caches when the operation as a whole is larger than they are.
  [[nodiscard]] Store store() const noexcept { return store_; }
  /// This rank's share of the elements `piece`, with borders on cache lines.
  [[nodiscard]] Range share(Range piece, int rank) const noexcept;

 private:
  const Operation& operation_;
  Shape shape_;
  int rank_;
  int ranks_;
  std::size_t element_bytes_;
  Store store_;
  std::vector<std::uint64_t> scalars_;
};

}  // namespace ripieno::coll

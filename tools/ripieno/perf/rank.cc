// Communicator, buffers, data in and data out of one rank.
#include "perf/rank.h"

#include <fmt/format.h>

#include <algorithm>

#include "perf/failure.h"

namespace ripieno::tool::perf {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{1} << 20;

ncclRedOp_t built_in(Operator op) {
  switch (op) {
    case Operator::kProd:
      return ncclProd;
    case Operator::kMin:
      return ncclMin;
    case Operator::kMax:
      return ncclMax;
    case Operator::kAvg:
      return ncclAvg;
    default:
      return ncclSum;
  }
}

}  // namespace

Rank::Rank(const Settings& settings, int rank, int ranks, device::Device& device)
    : settings_(settings),
      rank_(rank),
      ranks_(ranks),
      device_(device),
      stream_(device.create_stream()) {}

Rank::~Rank() {
  try {
    device_.destroy_stream(stream_);
  } catch (const std::exception&) {
    // The measurement is over; what is left goes with the process.
  }
}

void Rank::join(const ncclUniqueId& id) {
  device::backend().set_current_device(device_.ordinal());
  check(ncclCommInitRank(&comm_, ranks_, id, rank_),
        fmt::format("rank {}: ncclCommInitRank", rank_));
}

void Rank::prepare(std::uint64_t largest_bytes) {
  device::backend().set_current_device(device_.ordinal());
  const Source source =
      settings_.registration == Registration::kNone ? Source::kDevice : Source::kLibrary;
  send_ = std::make_unique<Buffer>(device_, largest_bytes, source);
  receive_ = std::make_unique<Buffer>(device_, largest_bytes, source);
  pulse_ = std::make_unique<Buffer>(device_, sizeof(float), Source::kDevice);
  device_.fill(pulse_->data(), std::byte{0}, sizeof(float), stream_);
  staging_.resize(kStagingBytes);
  for (const Buffer* buffer : {send_.get(), receive_.get()}) {
    if (settings_.registration == Registration::kLocal) {
      check(ncclCommRegister(comm_, buffer->whole(), buffer->whole_bytes(),
                             &registrations_.emplace_back()),
            fmt::format("rank {}: ncclCommRegister", rank_));
    } else if (settings_.registration == Registration::kWindow) {
      check(ncclCommWindowRegister(comm_, buffer->whole(), buffer->whole_bytes(),
                                   &windows_.emplace_back(), NCCL_WIN_COLL_SYMMETRIC),
            fmt::format("rank {}: ncclCommWindowRegister", rank_));
    }
  }
}

void Rank::leave() {
  for (void* registration : registrations_)
    check(ncclCommDeregister(comm_, registration), "ncclCommDeregister");
  for (ncclWindow_t window : windows_)
    check(ncclCommWindowDeregister(comm_, window), "ncclCommWindowDeregister");
  check(ncclCommDestroy(comm_), fmt::format("rank {}: ncclCommDestroy", rank_));
}

void Rank::begin(const Case& measured, bool in_place) {
  case_ = measured;
  in_place_ = in_place;
  op_ = built_in(case_.op.value_or(Operator::kSum));
  if (case_.op == Operator::kMulSum) create_operator();
}

void Rank::create_operator() {
  std::uint64_t factor = make_oracle(case_.type.type, case_.op, ranks_, 0)->factor(rank_);
  check(ncclRedOpCreatePreMulSum(&op_, &factor, case_.type.type, ncclScalarHostImmediate, comm_),
        fmt::format("rank {}: ncclRedOpCreatePreMulSum", rank_));
  own_op_ = true;
}

void Rank::end() {
  if (own_op_) check(ncclRedOpDestroy(op_, comm_), fmt::format("rank {}: ncclRedOpDestroy", rank_));
  own_op_ = false;
}

std::byte* Rank::send_place() const {
  if (!in_place_) return send_->data();
  return receive_->data() +
         settings_.collective->in_place(case_.counts, rank_).send * case_.type.size;
}

std::byte* Rank::receive_place() const {
  if (!in_place_) return receive_->data();
  return receive_->data() +
         settings_.collective->in_place(case_.counts, rank_).receive * case_.type.size;
}

template <typename Body>
void Rank::in_chunks(std::uint64_t elements, Body&& body) {
  const std::uint64_t chunk = kStagingBytes / case_.type.size;
  for (std::uint64_t first = 0; first < elements; first += chunk) {
    body(staging_.data(), first, static_cast<std::size_t>(std::min(chunk, elements - first)));
  }
}

void Rank::fill(std::uint64_t seed) {
  oracle_ = make_oracle(case_.type.type, case_.op, ranks_, seed);
  const std::size_t size = case_.type.size;
  // The receive buffer first: in place, the input then lies on top.
  device_.fill(receive_->data(), Buffer::kPoison, case_.counts.larger() * size, stream_);
  in_chunks(case_.counts.sent, [&](std::byte* staging, std::uint64_t first, std::size_t count) {
    oracle_->input(rank_, first, count, staging);
    device_.copy(send_place() + first * size, staging, count * size, stream_);
    device_.synchronize(stream_);
  });
  const std::uint64_t used = in_place_ ? case_.counts.larger() : case_.counts.received;
  receive_->poison_guards(used * size, stream_);
  device_.synchronize(stream_);
}

void Rank::launch() {
  const Call call{send_place(),
                  receive_place(),
                  case_.counts.argument,
                  case_.type.size,
                  case_.type.type,
                  op_,
                  std::max(case_.root, 0),
                  rank_,
                  ranks_,
                  comm_,
                  stream_};
  const ncclResult_t result = settings_.collective->launch(call);
  if (result == ncclSuccess) [[likely]]
    return;
  check(result, fmt::format("rank {}: {} of {} {}", rank_, settings_.collective->name,
                            case_.counts.argument, case_.type.name));
}

void Rank::launch_barrier() {
  check(ncclAllReduce(pulse_->data(), pulse_->data(), 1, ncclFloat32, ncclMax, comm_, stream_),
        fmt::format("rank {}: barrier", rank_));
}

void Rank::wait() {
  device_.synchronize(stream_);
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(comm_, &state), fmt::format("rank {}: ncclCommGetAsyncError", rank_));
  check(state, fmt::format("rank {}: {}", rank_, settings_.collective->name));
}

std::uint64_t Rank::count_wrong() {
  wait();
  const std::size_t size = case_.type.size;
  std::uint64_t wrong = 0;
  settings_.collective->for_pieces(
      case_.counts, rank_, ranks_, case_.root, [&](const Piece& piece) {
        const std::byte* from = receive_place() + piece.offset * size;
        in_chunks(piece.count, [&](std::byte* staging, std::uint64_t first, std::size_t count) {
          device_.copy(staging, from + first * size, count * size, stream_);
          device_.synchronize(stream_);
          wrong += piece.source < 0
                       ? oracle_->wrong_results(piece.first + first, count, staging)
                       : oracle_->wrong_copies(piece.source, piece.first + first, count, staging);
        });
      });
  const std::uint64_t used = in_place_ ? case_.counts.larger() : case_.counts.received;
  return wrong + receive_->damaged_guard_bytes(used * size, stream_);
}

}  // namespace ripieno::tool::perf

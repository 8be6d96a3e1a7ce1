// The table of collectives and their arithmetic.
#include "perf/collective.h"

#include <algorithm>
#include <array>
#include <vector>

#include "command.h"
#include "words.h"

namespace ripieno::tool::perf {
namespace {

//                 name           kind              reduces rooted parts in-place
constexpr std::array<Collective, 9> kCollectives = {{
    {"all_reduce", Kind::kAllReduce, true, false, false, true},
    {"all_gather", Kind::kAllGather, false, false, true, true},
    {"reduce_scatter", Kind::kReduceScatter, true, false, true, true},
    {"broadcast", Kind::kBroadcast, false, true, false, true},
    {"reduce", Kind::kReduce, true, true, false, true},
    {"alltoall", Kind::kAllToAll, false, false, true, false},
    {"gather", Kind::kGather, false, true, true, true},
    {"scatter", Kind::kScatter, false, true, true, true},
    {"sendrecv", Kind::kSendRecv, false, false, false, false},
}};

/// Everybody sends to the next rank and receives from the one before.
ncclResult_t send_around(const Call& call) {
  const int next = (call.rank + 1) % call.ranks;
  const int previous = (call.rank + call.ranks - 1) % call.ranks;
  ncclResult_t result = ncclGroupStart();
  if (result != ncclSuccess) return result;
  result = ncclSend(call.send, call.count, call.type, next, call.comm, call.stream);
  if (result == ncclSuccess) {
    result = ncclRecv(call.receive, call.count, call.type, previous, call.comm, call.stream);
  }
  const ncclResult_t ended = ncclGroupEnd();
  return result == ncclSuccess ? ended : result;
}

}  // namespace

Counts Collective::counts(std::uint64_t bytes, std::size_t element, int ranks) const {
  const std::uint64_t elements = bytes / element;
  if (!split_in_parts) return {elements, elements, elements};
  const std::uint64_t line = 16 / element;
  const auto parts = static_cast<std::uint64_t>(ranks);
  const std::uint64_t part = elements / parts / line * line;
  const bool sends_all =
      kind == Kind::kReduceScatter || kind == Kind::kAllToAll || kind == Kind::kScatter;
  const bool receives_all =
      kind == Kind::kAllGather || kind == Kind::kAllToAll || kind == Kind::kGather;
  return {part, sends_all ? part * parts : part, receives_all ? part * parts : part};
}

InPlace Collective::in_place(const Counts& counts, int rank) const {
  const std::uint64_t place = counts.argument * static_cast<std::uint64_t>(rank);
  switch (kind) {
    case Kind::kAllGather:
    case Kind::kGather:
      return {place, 0};
    case Kind::kReduceScatter:
    case Kind::kScatter:
      return {0, place};
    default:
      return {0, 0};
  }
}

double Collective::bus_factor(int ranks) const {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case Kind::kAllReduce:
      return 2 * others;
    case Kind::kAllGather:
    case Kind::kReduceScatter:
    case Kind::kAllToAll:
    case Kind::kGather:
    case Kind::kScatter:
      return others;
    default:
      return 1;
  }
}

ncclResult_t Collective::launch(const Call& call) const {
  const auto& [send, receive, count, element, type, op, root, rank, ranks, comm, stream] = call;
  switch (kind) {
    case Kind::kAllReduce:
      return ncclAllReduce(send, receive, count, type, op, comm, stream);
    case Kind::kAllGather:
      return ncclAllGather(send, receive, count, type, comm, stream);
    case Kind::kReduceScatter:
      return ncclReduceScatter(send, receive, count, type, op, comm, stream);
    case Kind::kBroadcast:
      return ncclBroadcast(send, receive, count, type, root, comm, stream);
    case Kind::kReduce:
      return ncclReduce(send, receive, count, type, op, root, comm, stream);
    case Kind::kAllToAll:
      return ncclAlltoAll(send, receive, count, type, comm, stream);
    case Kind::kGather:
      return ncclGather(send, receive, count, type, root, comm, stream);
    case Kind::kScatter:
      return ncclScatter(send, receive, count, type, root, comm, stream);
    case Kind::kSendRecv:
      return send_around(call);
  }
  return ncclInternalError;
}

std::span<const Collective> collectives() {
  return kCollectives;
}

const Collective& find_collective(std::string_view name) {
  const auto found = std::ranges::find(kCollectives, name, &Collective::name);
  if (found != kCollectives.end()) return *found;
  std::vector<std::string_view> names;
  for (const Collective& row : kCollectives) names.push_back(row.name);
  throw UsageError(unknown_word("collective", name, names));
}

}  // namespace ripieno::tool::perf

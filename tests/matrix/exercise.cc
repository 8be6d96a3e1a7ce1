// The shapes of the collectives, written down once more and independently of the library.
#include "matrix/exercise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/reduce.h"
#include "matrix/tables.h"

namespace ripieno::test {
namespace {

constexpr std::array kNames = {"AllReduce",     "Reduce",   "Broadcast", "Bcast",  "AllGather",
                               "ReduceScatter", "AlltoAll", "Gather",    "Scatter"};

/// Blocks of `count` elements in a rank's buffers, and whose are read and written.
struct Layout {
  std::size_t send_blocks;
  std::size_t receive_blocks;
  bool sends;
  bool receives;
  /// Where the smaller buffer of an in-place call lies in the larger one.
  std::size_t place;
};

Layout layout_of(const Exercise& exercise, int rank, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto me = static_cast<std::size_t>(rank);
  const bool is_root = rank == exercise.root;
  switch (exercise.collective) {
    case Collective::kAllReduce:
      return {1, 1, true, true, 0};
    case Collective::kReduce:
      return {1, 1, true, is_root, 0};
    case Collective::kBroadcast:
    case Collective::kBcast:
      return {1, 1, is_root, true, 0};
    case Collective::kAllGather:
      return {1, n, true, true, me};
    case Collective::kReduceScatter:
      return {n, 1, true, true, me};
    case Collective::kAlltoAll:
      return {n, n, true, true, 0};
    case Collective::kGather:
      return {1, n, true, is_root, me};
    case Collective::kScatter:
      return {n, 1, is_root, true, me};
  }
  return {};
}

MemoryKind kind_of(MemoryMix mix, int rank, int ranks) {
  switch (mix) {
    case MemoryMix::kHeap:
      return MemoryKind::kHeap;
    case MemoryMix::kNccl:
      return MemoryKind::kNccl;
    case MemoryMix::kOneRankHeap:
      return rank == ranks / 2 ? MemoryKind::kHeap : MemoryKind::kDevice;
    case MemoryMix::kDevice:
      break;
  }
  return MemoryKind::kDevice;
}

/// Bytes of the input of `rank`, whose blocks follow each other in the rank's table.
void fill_input(const Exercise& exercise, int rank, std::span<std::byte> to) {
  fill_from(input_table(exercise.type, rank), type_size(exercise.type), exercise.salt, to);
}

/// What `rank` must find in its output.
std::vector<std::byte> expected_output(const Exercise& exercise, int rank, int ranks) {
  const std::size_t size = type_size(exercise.type);
  const std::size_t count = exercise.count;
  const Layout layout = layout_of(exercise, rank, ranks);
  std::vector<std::byte> output(layout.receive_blocks * count * size);
  const auto block = [&](std::size_t index) {
    return std::span(output).subspan(index * count * size, count * size);
  };
  const auto me = static_cast<std::size_t>(rank);
  const auto reduced = [&](std::size_t first_block) {
    fill_from(reduced_table(exercise.type, exercise.operation, ranks), size,
              exercise.salt + first_block * count, output);
  };
  const auto take = [&](int from, std::size_t their_block, std::size_t my_block) {
    fill_from(input_table(exercise.type, from), size, exercise.salt + their_block * count,
              block(my_block));
  };
  switch (exercise.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      reduced(0);
      break;
    case Collective::kReduceScatter:
      reduced(me);
      break;
    case Collective::kBroadcast:
    case Collective::kBcast:
      take(exercise.root, 0, 0);
      break;
    case Collective::kScatter:
      take(exercise.root, me, 0);
      break;
    case Collective::kAllGather:
    case Collective::kGather:
      for (int from = 0; from < ranks; ++from) take(from, 0, static_cast<std::size_t>(from));
      break;
    case Collective::kAlltoAll:
      for (int from = 0; from < ranks; ++from) take(from, me, static_cast<std::size_t>(from));
      break;
  }
  return output;
}

ncclResult_t call(const Exercise& exercise, const void* send, void* receive, const Rank& rank) {
  const auto& [collective, type, operation, count, root, in_place, memory, shift, salt] = exercise;
  switch (collective) {
    case Collective::kAllReduce:
      return ncclAllReduce(send, receive, count, type, operation, rank.comm, rank.stream);
    case Collective::kReduce:
      return ncclReduce(send, receive, count, type, operation, root, rank.comm, rank.stream);
    case Collective::kBroadcast:
      return ncclBroadcast(send, receive, count, type, root, rank.comm, rank.stream);
    case Collective::kBcast:
      return ncclBcast(receive, count, type, root, rank.comm, rank.stream);
    case Collective::kAllGather:
      return ncclAllGather(send, receive, count, type, rank.comm, rank.stream);
    case Collective::kReduceScatter:
      return ncclReduceScatter(send, receive, count, type, operation, rank.comm, rank.stream);
    case Collective::kAlltoAll:
      return ncclAlltoAll(send, receive, count, type, rank.comm, rank.stream);
    case Collective::kGather:
      return ncclGather(send, receive, count, type, root, rank.comm, rank.stream);
    case Collective::kScatter:
      return ncclScatter(send, receive, count, type, root, rank.comm, rank.stream);
  }
  return ncclInternalError;
}

/// Where two stretches of bytes differ first.
void expect_same_bytes(std::span<const std::byte> got, std::span<const std::byte> wanted,
                       std::size_t element_bytes, const char* what, const std::string& who) {
  const auto [at, ignored] = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end());
  if (at == got.end() && got.size() == wanted.size()) {
    return;
  }
  const auto byte = static_cast<std::size_t>(at - got.begin());
  const auto wrong = static_cast<std::size_t>(std::count_if(
      got.begin(), got.end(),
      [&, index = std::size_t{0}](std::byte value) mutable { return value != wanted[index++]; }));
  ADD_FAILURE() << who << ": " << what << " is wrong from element " << byte / element_bytes
                << " of " << got.size() / element_bytes << " on, " << wrong << " bytes in all; 0x"
                << std::hex << std::to_integer<int>(got[byte]) << " instead of 0x"
                << std::to_integer<int>(wanted[byte]);
  throw BodyStopped();
}

}  // namespace

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

std::string to_string(const Exercise& exercise) {
  constexpr std::array kMixes = {"device", "heap", "nccl", "one rank heap"};
  std::ostringstream text;
  text << kNames[static_cast<std::size_t>(exercise.collective)] << " " << exercise.count << " x "
       << "type " << exercise.type << ", op " << exercise.operation << ", root " << exercise.root
       << (exercise.in_place ? ", in place, " : ", ")
       << kMixes[static_cast<std::size_t>(exercise.memory)] << ", shift " << exercise.shift;
  return text.str();
}

/// One rank's part of an exercise. In place, only the larger of the two buffers exists.
struct Bench::Work {
  int rank;
  Layout layout;
  std::optional<Buffer> send;
  std::optional<Buffer> receive;
  const std::byte* send_pointer = nullptr;
  std::byte* receive_pointer = nullptr;
  std::vector<std::byte> input;
};

Bench::Work Bench::prepare(const Exercise& exercise, const Rank& rank) {
  const int ranks = party_.ranks();
  const Layout layout = layout_of(exercise, rank.number, ranks);
  const std::size_t block = exercise.count * type_size(exercise.type);
  const std::size_t shift = exercise.shift * type_size(exercise.type);
  const MemoryKind kind = kind_of(exercise.memory, rank.number, ranks);
  Work work{.rank = rank.number, .layout = layout, .send = {}, .receive = {}, .input = {}};
  if (layout.sends) {
    work.input.resize(layout.send_blocks * block);
    fill_input(exercise, rank.number, work.input);
  }
  const bool in_place = exercise.in_place || exercise.collective == Collective::kBcast;
  const bool one_buffer = in_place && layout.sends && layout.receives;
  const bool send_is_larger = layout.send_blocks > layout.receive_blocks;
  if (layout.sends && (!one_buffer || send_is_larger)) {
    work.send.emplace(kind, work.input.size(), rank.stream, shift);
    work.send->upload(work.input);
    work.send_pointer = work.send->data();
    if (one_buffer) {
      work.receive_pointer = work.send->data() + layout.place * block;
    }
  }
  if (layout.receives && !(one_buffer && send_is_larger)) {
    work.receive.emplace(kind, layout.receive_blocks * block, rank.stream, shift);
    work.receive_pointer = work.receive->data();
    if (one_buffer) {
      work.receive->upload(work.input, layout.place * block);
      work.send_pointer = work.receive->data() + layout.place * block;
    }
  }
  return work;
}

void Bench::verify(const Exercise& exercise, Work& work) const {
  const std::string who = to_string(exercise) + ", rank " + std::to_string(work.rank);
  const std::size_t size = type_size(exercise.type);
  const std::size_t block = exercise.count * size;
  const std::vector<std::byte> wanted = work.layout.receives
                                            ? expected_output(exercise, work.rank, party_.ranks())
                                            : std::vector<std::byte>{};
  if (work.receive) {
    expect_same_bytes(work.receive->download(), wanted, size, "the output", who);
    work.receive->expect_guards_intact(who + ": the output");
  }
  if (work.send) {
    std::vector<std::byte> untouched = work.input;
    if (!work.receive && work.layout.receives) {
      std::copy(wanted.begin(), wanted.end(),
                untouched.begin() + static_cast<std::ptrdiff_t>(work.layout.place * block));
    }
    expect_same_bytes(work.send->download(), untouched, size, "the input afterwards", who);
    work.send->expect_guards_intact(who + ": the input");
  }
}

void Bench::run(const Exercise& exercise) {
  std::vector<Work> works;
  party_.each([&](Rank& rank) { works.push_back(prepare(exercise, rank)); });
  std::size_t next = 0;
  party_.launch([&](Rank& rank) {
    const Work& work = works[next++];
    check(call(exercise, work.send_pointer, work.receive_pointer, rank));
  });
  next = 0;
  party_.each([&](Rank&) { verify(exercise, works[next++]); });
}

}  // namespace ripieno::test

// The steps of page.h as stream memory operations and launches.
#include "plan/cuda/flags.h"

#include <algorithm>
#include <cstddef>

#include "coll/cuda/launch.h"
#include "device/cuda/errors.h"

namespace ripieno::plan::gpu {

using coll::Function;
using coll::Operation;
using device::cuda::check;

FlagRank::FlagRank(Page& page, Regions& regions, int rank, int ranks)
    : page_(page), regions_(regions), rank_(rank), ranks_(ranks) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, sizeof(Near)), "allocating device memory");
  near_ = static_cast<Near*>(memory);
  check(cudaMemset(memory, 0, sizeof(Near)), "clearing device memory");
}

FlagRank::~FlagRank() {
  cudaFree(near_);
}

void FlagRank::issue(Arrival arrival) {
  // A graph writes the slot whenever it is launched: from then on nobody knows what it holds.
  ever_captured_ |= arrival.capture != 0;
  if (ever_captured_) knows_slot_ = false;
  launch_copies(take_own_messages(arrival), arrival.stream);
  std::vector<Operation> mail;
  for (const Operation& operation : arrival.operations) {
    if (coll::is_message(operation.function)) {
      mail.push_back(operation);
    } else {
      collective(operation, arrival.stream);
    }
  }
  if (!mail.empty()) messages(mail, arrival.stream);
}

void FlagRank::use_boxes(std::vector<const coll::gpu::Box*> boxes, coll::gpu::Box* own) {
  boxes_ = std::move(boxes);
  own_box_ = own;
}

void FlagRank::one_shot(const Operation& operation, cudaStream_t stream) {
  coll::gpu::OneShotWork work = coll::gpu::describe_one_shot(operation, ranks_);
  work.rank = rank_;
  work.fault = page_.on_device(&page_.fault());
  work.own = own_box_;
  std::copy(boxes_.begin(), boxes_.end(), work.boxes);
  coll::gpu::launch(work, stream);
}

void FlagRank::collective(const Operation& operation, cudaStream_t stream) {
  if (!boxes_.empty() && coll::gpu::fits_one_shot(operation, ranks_)) {
    one_shot(operation, stream);
    return;
  }
  bring(operation);
  if (rank_ == kLeader) {
    lead(operation, stream);
    return;
  }
  const RankFlags& mine = page_.flags(rank_);
  ops_.write(at(mine.ready), std::uint32_t{1});
  ops_.wait(at(mine.done), 1);
  ops_.write(at(mine.done), std::uint32_t{0});
  ops_.flush(stream);
}

void FlagRank::bring(const Operation& operation) {
  const coll::Shape shape = coll::shape_of(operation.function);
  const bool sends = shape.is_source(rank_, operation.root) && operation.count != 0;
  const bool receives = shape.is_sink(rank_, operation.root) && operation.count != 0;
  const auto place = [&](const void* pointer, bool used) {
    const void* there = used ? regions_.address_for(kLeader, pointer) : nullptr;
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(there));
  };
  const std::array<std::uint64_t, 6> words = {
      place(operation.send, sends),
      place(operation.receive, receives),
      operation.scalar,
      place(operation.device_scalar, operation.device_scalar != nullptr),
      operation.count,
      coll::gpu::signature_of(operation)};
  static_assert(offsetof(coll::gpu::Slot, signature) == 5 * sizeof(std::uint64_t));
  for (std::size_t index = 0; index < words.size(); ++index) bring_word(index, words[index]);
  knows_slot_ = !ever_captured_;
}

void FlagRank::bring_word(std::size_t index, std::uint64_t value) {
  if (knows_slot_ && brought_[index] == value) return;
  brought_[index] = value;
  ops_.write(at(reinterpret_cast<const std::uint64_t*>(&page_.slot(rank_))[index]), value);
}

void FlagRank::lead(const Operation& operation, cudaStream_t stream) {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) ops_.wait(at(page_.flags(rank).ready), 1);
  }
  ops_.flush(stream);
  coll::gpu::Work work = coll::gpu::describe(operation, ranks_);
  // One copy is quicker than that every block reads over the bus.
  check(cudaMemcpyAsync(
            &near_->fault, at(page_.fault()),
            sizeof(coll::gpu::Fault) + sizeof(coll::gpu::Slot) * static_cast<std::size_t>(ranks_),
            cudaMemcpyDefault, stream),
        "copying what the ranks bring");
  work.slots = near_->slots;
  work.stopped = &near_->fault.stopped;
  work.fault = page_.on_device(&page_.fault());
  work.flags = page_.on_device(&page_.flags(0));
  work.leader = rank_;
  work.finished = &near_->finished;
  coll::gpu::launch(work, stream);
}

void FlagRank::messages(const std::vector<Operation>& operations, cudaStream_t stream) {
  std::vector<std::vector<Operation>> sends(static_cast<std::size_t>(ranks_));
  std::vector<std::vector<Operation>> receives(static_cast<std::size_t>(ranks_));
  std::size_t longest = 0;
  for (const Operation& operation : operations) {
    auto& line = (operation.function == Function::kSend
                      ? sends
                      : receives)[static_cast<std::size_t>(operation.root)];
    line.push_back(operation);
    longest = std::max(longest, line.size());
  }
  // Both ends of a pair count its messages alike, so their rounds are the same.
  for (std::size_t first = 0; first < longest; first += kMailDepth) {
    message_round(sends, receives, first, stream);
  }
}

void FlagRank::message_round(const std::vector<std::vector<Operation>>& sends,
                             const std::vector<std::vector<Operation>>& receives, std::size_t first,
                             cudaStream_t stream) {
  const auto for_each = [&](const std::vector<std::vector<Operation>>& lines, auto visit) {
    for (int peer = 0; peer < ranks_; ++peer) {
      const std::vector<Operation>& line = lines[static_cast<std::size_t>(peer)];
      const std::size_t end = std::min(line.size(), first + kMailDepth);
      for (std::size_t index = first; index < end; ++index) visit(peer, index - first, line[index]);
    }
  };
  for_each(sends, [&](int peer, std::size_t place, const Operation& operation) {
    const Mail& mail = page_.mail(rank_, peer, place);
    const void* const there =
        operation.count != 0 ? regions_.address_for(peer, operation.send) : nullptr;
    ops_.write(reinterpret_cast<const std::uint64_t*>(at(mail.message.from)),
               static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(there)));
    ops_.write(at(mail.message.bytes), operation.count * type_size(operation.type));
    ops_.write(at(mail.posted), std::uint32_t{1});
  });
  for_each(receives, [&](int peer, std::size_t place, const Operation&) {
    ops_.wait(at(page_.mail(peer, rank_, place).posted), 1);
  });
  ops_.flush(stream);
  copy_received(receives, first, stream);
  for_each(receives, [&](int peer, std::size_t place, const Operation&) {
    const Mail& mail = page_.mail(peer, rank_, place);
    ops_.write(at(mail.posted), std::uint32_t{0});
    ops_.write(at(mail.taken), std::uint32_t{1});
  });
  for_each(sends, [&](int peer, std::size_t place, const Operation&) {
    const Mail& mail = page_.mail(rank_, peer, place);
    ops_.wait(at(mail.taken), 1);
    ops_.write(at(mail.taken), std::uint32_t{0});
  });
  ops_.flush(stream);
}

void FlagRank::copy_received(const std::vector<std::vector<Operation>>& receives, std::size_t first,
                             cudaStream_t stream) {
  coll::gpu::CopyList list{};
  std::uint64_t most = 0;
  const auto launch = [&] {
    if (list.copies == 0) return;
    coll::gpu::launch_look(list, at(page_.fault().stopped), near_->messages, stream);
    coll::gpu::launch(list, most, stream);
    list = {};
    most = 0;
  };
  for (int peer = 0; peer < ranks_; ++peer) {
    const std::vector<Operation>& line = receives[static_cast<std::size_t>(peer)];
    for (std::size_t index = first; index < std::min(line.size(), first + kMailDepth); ++index) {
      const std::uint64_t bytes = line[index].count * type_size(line[index].type);
      if (bytes == 0) continue;
      list.copy[list.copies] = {nullptr, line[index].receive, bytes};
      list.posted[list.copies] = at(page_.mail(peer, rank_, index - first).message);
      most = std::max(most, bytes);
      if (++list.copies == coll::gpu::kMostCopies) launch();
    }
  }
  launch();
}

}  // namespace ripieno::plan::gpu

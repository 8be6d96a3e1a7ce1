// Threads of a process of a run, and what they do for their ranks.
#include "support/party.h"

#include <algorithm>
#include <string>
#include <thread>

#include "support/gpu.h"

namespace ripieno::test {

Party::Party(const Placement& placement, int process, int thread)
    : placement_(placement), process_(process) {
  for (int rank = 0; rank < placement.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (placement.process[index] == process && placement.thread[index] == thread) {
      const int devices =
          kOnGpu ? std::min(placement.devices, visible_devices()) : placement.devices;
      mine_.push_back({.number = rank, .device = rank % devices});
    }
  }
}

Party::~Party() {
  for (Rank& rank : mine_) {
    if (rank.comm != nullptr) {
      ncclCommAbort(rank.comm);
    }
    if (rank.stream != nullptr) {
      cudaStreamDestroy(rank.stream);
    }
  }
}

ncclUniqueId Party::id(int slot) {
  const auto index = static_cast<std::size_t>(slot);
  if (mine_.front().number == 0) {
    check(ncclGetUniqueId(&board().ids[index]));
    board().id_is_there[index].store(1, std::memory_order_release);
  }
  wait_until([&] { return board().id_is_there[index].load(std::memory_order_acquire) != 0; },
             "the unique id");
  return board().ids[index];
}

std::vector<ncclComm_t> Party::make_communicators(int slot, ncclConfig_t* config) {
  const ncclUniqueId shared_id = id(slot);
  std::vector<ncclComm_t> comms(mine_.size());
  if (mine_.size() > 1) {
    check(ncclGroupStart());
  }
  for (std::size_t index = 0; index < mine_.size(); ++index) {
    check(cudaSetDevice(mine_[index].device));
    check(ncclCommInitRankConfig(&comms[index], ranks(), shared_id, mine_[index].number, config));
  }
  if (mine_.size() > 1) {
    check(ncclGroupEnd());
  }
  return comms;
}

void Party::init(ncclConfig_t* config) {
  const std::vector<ncclComm_t> comms = make_communicators(0, config);
  for (std::size_t index = 0; index < mine_.size(); ++index) {
    mine_[index].comm = comms[index];
  }
  // Streams that the null stream does not wait for: ranks that share a device must not wait for
  // each other through it.
  each([](Rank& rank) { check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking)); });
}

void Party::destroy() {
  synchronize();
  each([](Rank& rank) {
    check(ncclCommDestroy(std::exchange(rank.comm, nullptr)));
    check(cudaStreamDestroy(std::exchange(rank.stream, nullptr)));
  });
}

void Party::synchronize() {
  for (const Rank& rank : mine_) {
    check(cudaStreamSynchronize(rank.stream));
  }
}

void Party::barrier() {
  ++barriers_;
  board().arrivals.fetch_add(1);
  const std::uint64_t wanted = barriers_ * static_cast<std::uint64_t>(placement_.parties());
  wait_until([wanted] { return board().arrivals.load() >= wanted; }, "all parties at a barrier");
}

namespace {

void run_party(const Placement& placement, int process, int thread,
               void (*body)(const void*, Party&), const void* closure) {
  Party party(placement, process, thread);
  std::string who = "rank";
  for (const Rank& rank : party.mine()) {
    who += " " + std::to_string(rank.number);
  }
  SCOPED_TRACE(who);
  try {
    body(closure, party);
  } catch (const BodyStopped&) {
    // Reported where it happened.
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace

void run_process(const Placement& placement, int process, void (*body)(const void*, Party&),
                 const void* closure) {
  std::vector<std::jthread> threads;
  for (int thread = 1; thread < placement.threads_of(process); ++thread) {
    threads.emplace_back([&, thread] { run_party(placement, process, thread, body, closure); });
  }
  run_party(placement, process, 0, body, closure);
}

}  // namespace ripieno::test

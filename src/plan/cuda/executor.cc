// Which way a batch takes, and the threads that look after it.
#include "plan/cuda/executor.h"

#include <algorithm>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "coll/cuda/launch.h"
#include "device/cuda/errors.h"

namespace ripieno::plan::gpu {
namespace {

using coll::Operation;
using device::cuda::check;
using device::cuda::CurrentDevice;

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::microseconds kReleaseEvery{200};

/// A collective of a single rank.
void run_single(const Operation& operation, cudaStream_t stream) {
  const bool scales =
      coll::shape_of(operation.function).reduces && operation.reduce == ReduceKind::kPreMulSum;
  const std::size_t bytes = operation.count * type_size(operation.type);
  if (bytes == 0) return;
  if (scales) {
    coll::gpu::Work work = coll::gpu::describe(operation, 1);
    work.buffers[0] = buffers_of(operation);
    coll::gpu::launch(work, stream);
  } else if (operation.send != operation.receive) {
    check(
        cudaMemcpyAsync(operation.receive, operation.send, bytes, cudaMemcpyDeviceToDevice, stream),
        "copying memory");
  }
}

}  // namespace

/// What start() collects for one communicator.
struct GpuExecutor::Start {
  Team* team;
  std::vector<Arrival> arrivals;
  std::vector<GpuExecutor*> executors;
  Meeting::Guests guests;
};

GpuExecutor::GpuExecutor(Sequencer& sequencer, std::shared_ptr<Team> team)
    : sequencer_(sequencer),
      team_(std::move(team)),
      device_(team_->devices[static_cast<std::size_t>(sequencer.rank())]) {
  if (!team_->page) return;
  const CurrentDevice current(device_);
  std::vector<bool> same_process;
  for (const int device : team_->devices) same_process.push_back(device >= 0);
  regions_ = std::make_unique<Regions>(*team_->page, sequencer_, std::move(same_process));
  flags_ = std::make_unique<FlagRank>(*team_->page, *regions_, sequencer.rank(), team_->ranks());
  check(cudaEventCreateWithFlags(&last_, cudaEventDisableTiming), "creating an event");
  if (!team_->meeting) {
    imports_ = std::make_unique<Imports>(*team_->page, sequencer.rank());
    keeper_ = start_thread("ripieno-gpu", [this](const std::stop_token& stop) { keep(stop); });
  }
}

GpuExecutor::~GpuExecutor() {
  keeper_.request_stop();
  sequencer_.team().page().ring_always(sequencer_.rank());
  keeper_ = {};
  imports_.reset();
  {
    const std::lock_guard lock(release_mutex_);
    releaser_ = {};
  }
  if (last_ != nullptr) cudaEventDestroy(last_);
  if (box_ != nullptr) {
    regions_.reset();  // It keeps the box open to other processes.
    cudaFree(box_);
  }
}

std::vector<std::uint64_t> GpuExecutor::offer_box() {
  const CurrentDevice current(device_);
  void* memory = nullptr;
  check(cudaMalloc(&memory, sizeof(coll::gpu::Box)), "allocating device memory");
  box_ = static_cast<coll::gpu::Box*>(memory);
  check(cudaMemset(memory, 0, sizeof(coll::gpu::Box)), "clearing device memory");
  check(cudaStreamSynchronize(nullptr), "clearing device memory");
  std::vector<std::uint64_t> addresses;
  for (int peer = 0; peer < team_->ranks(); ++peer) {
    addresses.push_back(reinterpret_cast<std::uintptr_t>(
        static_cast<const void*>(regions_->address_for(peer, memory))));
  }
  return addresses;
}

void GpuExecutor::use_boxes(const std::vector<std::uint64_t>& addresses) {
  std::vector<const coll::gpu::Box*> boxes;
  for (const std::uint64_t address : addresses) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): mapped here, told by its owner
    boxes.push_back(reinterpret_cast<const coll::gpu::Box*>(address));
  }
  flags_->use_boxes(std::move(boxes), box_);
}

Arrival GpuExecutor::arrive(StreamBatch& batch) const {
  const CurrentDevice current(device_);
  return {.rank = sequencer_.rank(),
          .device = device_,
          .stream = batch.stream,
          .capture = team_->ranks() > 1 ? capture_of(batch.stream) : 0,
          .operations = std::move(batch.batch.operations)};
}

void GpuExecutor::start(std::span<StreamBatch> batches) {
  const device::cuda::RelaxedCapture relaxed;
  std::vector<Start> starts;
  for (StreamBatch& batch : batches) {
    auto& executor = static_cast<GpuExecutor&>(*batch.batch.sequencer->executor());
    auto place = std::ranges::find(starts, executor.team_.get(), &Start::team);
    if (place == starts.end()) {
      starts.push_back(
          {.team = executor.team_.get(), .arrivals = {}, .executors = {}, .guests = {}});
      place = starts.end() - 1;
    }
    place->arrivals.push_back(executor.arrive(batch));
    place->executors.push_back(&executor);
  }
  const auto guarded = [](Start& one, auto action) {
    try {
      action();
    } catch (const Error& error) {
      for (GpuExecutor* executor : one.executors) executor->sequencer_.fail(error);
      throw;
    }
  };
  for (Start& one : starts) {
    if (one.team->meeting) {
      guarded(one, [&] { one.guests = one.team->meeting->bring(std::move(one.arrivals)); });
    }
  }
  for (Start& one : starts) {
    guarded(one, [&] {
      if (one.team->meeting) {
        one.team->meeting->wait(one.guests);
        one.arrivals.clear();
        for (const auto& guest : one.guests) {
          one.arrivals.push_back(guest->arrival);
          one.arrivals.back().operations = guest->alone;
        }
      }
      // The leader last: whatever it waits for is in a stream then.
      for (const bool leads : {false, true}) {
        for (std::size_t index = 0; index < one.arrivals.size(); ++index) {
          Arrival& arrival = one.arrivals[index];
          if ((arrival.rank == kLeader) != leads || arrival.operations.empty()) continue;
          if (one.team->ranks() == 1) {
            one.executors[index]->run_alone(std::move(arrival));
          } else {
            one.executors[index]->issue(std::move(arrival));
          }
        }
      }
    });
  }
}

void GpuExecutor::run_alone(Arrival arrival) {
  const CurrentDevice current(device_);
  launch_copies(take_own_messages(arrival), arrival.stream);
  for (const Operation& operation : arrival.operations) run_single(operation, arrival.stream);
}

void GpuExecutor::issue(Arrival arrival) {
  const std::lock_guard lock(mutex_);
  const CurrentDevice current(device_);
  check_fault();
  const cudaStream_t stream = arrival.stream;
  const bool captured = arrival.capture != 0;
  if (imports_ && imports_->is_untidy() && !captured && is_idle()) imports_->tidy();
  // The words of the page serve one operation after the other, whatever streams they are in.
  if (!captured && issued_ && stream != last_stream_) {
    check(cudaStreamWaitEvent(stream, last_, 0), "making a stream wait for an event");
  }
  flags_->issue(std::move(arrival));
  if (!captured) {
    check(cudaEventRecord(last_, stream), "recording an event");
    last_stream_ = stream;
    issued_ = true;
  }
}

void GpuExecutor::check_fault() {
  const coll::gpu::Fault& fault = team_->page->fault();
  if (__atomic_load_n(&fault.raised, __ATOMIC_ACQUIRE) != 0) {
    if (fault.one_shot != 0) {
      throw Error(ncclInvalidUsage, "the ranks do not agree: rank {} calls something else than {}",
                  fault.rank, describe_call(fault.expected_count, fault.expected_signature));
    }
    throw_disagreement(kLeader, fault.expected_count, fault.expected_signature,
                       static_cast<int>(fault.rank), fault.count, fault.signature);
  }
}

void GpuExecutor::keep(const std::stop_token& stop) {
  // The application may be capturing, and mapping memory has nothing to do with that.
  const device::cuda::RelaxedCapture relaxed;
  try {
    check(cudaSetDevice(device_), "selecting a device");
    while (!stop.stop_requested()) {
      imports_->serve();
      if (!sequencer_.stopped()) {
        check_fault();
        sequencer_.check_peers(nullptr);
      }
      sequencer_.sleep(kLook, [&] {
        for (int peer = 0; peer < team_->ranks(); ++peer) {
          if (team_->page->request(peer, sequencer_.rank()).state.load() == MapRequest::kAsked) {
            return true;
          }
        }
        return stop.stop_requested();
      });
    }
  } catch (const Error& error) {
    sequencer_.fail(error);
  }
  while (!is_idle()) std::this_thread::sleep_for(kReleaseEvery);
}

void GpuExecutor::release() noexcept {
  if (team_->meeting) {
    team_->meeting->close(Error(ncclRemoteError, "rank {} has failed or was aborted: {}",
                                sequencer_.rank(), sequencer_.label()));
  }
  if (!team_->page) return;
  const std::lock_guard lock(release_mutex_);
  if (!releaser_.joinable()) {
    releaser_ =
        start_thread("ripieno-release", [this](const std::stop_token& stop) { let_go(stop); });
  }
}

/// Sets every word that a stream of this rank may wait for, until the streams are through.
void GpuExecutor::let_go(const std::stop_token& stop) noexcept {
  Page& page = *team_->page;
  const int rank = sequencer_.rank();
  const auto set = [](const std::uint32_t& word) {
    __atomic_store_n(const_cast<std::uint32_t*>(&word), 1U, __ATOMIC_SEQ_CST);
  };
  set(page.fault().stopped);
  while (!stop.stop_requested()) {
    set(page.flags(rank).done);
    for (int peer = 0; peer < team_->ranks(); ++peer) {
      if (rank == kLeader) set(page.flags(peer).ready);
      for (std::size_t place = 0; place < kMailDepth; ++place) {
        set(page.mail(peer, rank, place).posted);
        set(page.mail(rank, peer, place).taken);
      }
    }
    std::this_thread::sleep_for(kReleaseEvery);
  }
}

bool GpuExecutor::is_idle() noexcept {
  return !issued_ || cudaEventQuery(last_) != cudaErrorNotReady;
}

bool GpuExecutor::wait(std::chrono::milliseconds timeout) noexcept {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!is_idle() || (team_->meeting && !team_->meeting->is_idle())) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  return true;
}

}  // namespace ripieno::plan::gpu

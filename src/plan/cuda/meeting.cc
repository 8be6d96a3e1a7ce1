// Matching what the ranks bring, and the order between their streams: a launch waits for the
// streams of all whom it works for, and they wait for it.
#include "plan/cuda/meeting.h"

#include <sched.h>

#include <algorithm>

#include "coll/cuda/launch.h"
#include "device/cuda/errors.h"

namespace ripieno::plan::gpu {
namespace {

using coll::Function;
using coll::Operation;
using device::cuda::check;
using device::cuda::CurrentDevice;

/// Looks before a thread falls asleep, the first ones without giving up its core.
constexpr int kSpins = 2000;
constexpr int kLooks = 2200;

cudaEvent_t create_event(int device) {
  const CurrentDevice current(device);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
  return event;
}

template <typename List, typename Value>
bool contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Meeting::Meeting(std::vector<int> devices)
    : devices_(std::move(devices)), collectives_(devices_.size()) {
  for (const int device : devices_) {
    eager_.ready.push_back(create_event(device));
    captured_.ready.push_back(create_event(device));
  }
}

Meeting::~Meeting() {
  for (const Events* events : {&eager_, &captured_}) {
    for (cudaEvent_t event : events->ready) cudaEventDestroy(event);
    for (const auto& [device, list] : events->done) {
      for (cudaEvent_t event : list) cudaEventDestroy(event);
    }
  }
}

void Meeting::require_open() const {
  if (failure_) throw Error(*failure_);
}

Meeting::Guests Meeting::bring(std::vector<Arrival> arrivals) {
  const std::lock_guard lock(mutex_);
  require_open();
  Guests guests;
  for (Arrival& arrival : arrivals) {
    {
      const CurrentDevice current(arrival.device);
      launch_copies(take_own_messages(arrival), arrival.stream);
    }
    auto guest = std::make_shared<Guest>();
    guest->arrival = std::move(arrival);
    const int rank = guest->arrival.rank;
    for (const Operation& operation : guest->arrival.operations) {
      Line& line = operation.function == Function::kSend ? sends_[{rank, operation.root}]
                   : operation.function == Function::kRecv
                       ? receives_[{operation.root, rank}]
                       : collectives_[static_cast<std::size_t>(rank)];
      line.push_back({guest, operation});
    }
    guest->open = guest->arrival.operations.size();
    guest->is_settled = guest->open == 0;
    guests.push_back(std::move(guest));
  }
  try {
    match();
  } catch (const Error& error) {
    failure_ = std::make_unique<Error>(error);
    changed_.notify_all();
    throw;
  }
  return guests;
}

void Meeting::wait(const Guests& guests) {
  const auto all_settled = [&] {
    return std::ranges::all_of(guests, [](const auto& guest) {
      return guest->is_settled.load(std::memory_order_acquire);
    });
  };
  // The others are on their way, as a rule: a look is quicker than sleeping and being woken.
  for (int look = 0; look < kLooks; ++look) {
    if (all_settled()) return;
    if (look > kSpins) sched_yield();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || all_settled(); });
  if (!all_settled()) require_open();
}

void Meeting::close(const Error& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::make_unique<Error>(reason);
  changed_.notify_all();
}

bool Meeting::is_idle() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [device, list] : eager_.done) {
    for (cudaEvent_t event : list) {
      if (cudaEventQuery(event) == cudaErrorNotReady) return false;
    }
  }
  return true;
}

void Meeting::match() {
  while (match_collective()) {
  }
  match_messages();
  leave();
  changed_.notify_all();
}

bool Meeting::match_collective() {
  if (std::ranges::any_of(collectives_, [](const Line& line) { return line.empty(); }))
    return false;
  std::vector<Pending> all;
  for (Line& line : collectives_) {
    all.push_back(std::move(line.front()));
    line.pop_front();
  }
  launch_collective(all);
  return true;
}

void Meeting::launch_collective(const std::vector<Pending>& all) {
  const Operation& first = all.front().operation;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const Operation& other = all[rank].operation;
    if (other.count != first.count ||
        coll::gpu::signature_of(other) != coll::gpu::signature_of(first)) {
      throw_disagreement(0, first.count, coll::gpu::signature_of(first), static_cast<int>(rank),
                         other.count, coll::gpu::signature_of(other));
    }
  }
  const bool together = std::ranges::all_of(all, [&](const Pending& one) {
    return one.guest->arrival.capture == all.front().guest->arrival.capture;
  });
  if (together && first.count != 0) {
    // The first rank on each GPU is host to what that GPU does.
    std::vector<Guest*> hosts;
    for (const Pending& one : all) {
      const auto same_device = [&](const Guest* host) {
        return host->arrival.device == one.guest->arrival.device;
      };
      if (std::ranges::none_of(hosts, same_device)) hosts.push_back(one.guest.get());
    }
    coll::gpu::Work work = coll::gpu::describe(first, static_cast<int>(all.size()));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      work.buffers[rank] = buffers_of(all[rank].operation);
    }
    work.parts = static_cast<std::uint32_t>(hosts.size());
    for (Guest* host : hosts) {
      const CurrentDevice current(host->arrival.device);
      for (const Pending& one : all) join(*host, *one.guest);
      coll::gpu::launch(work, host->arrival.stream);
      ++work.part;
    }
  }
  for (const Pending& one : all) settle(one, !together);
}

void Meeting::match_messages() {
  std::vector<Matched> matched;
  for (auto& [pair, sends] : sends_) {
    Line& receives = receives_[pair];
    while (!sends.empty() && !receives.empty()) {
      matched.push_back({std::move(sends.front()), std::move(receives.front())});
      sends.pop_front();
      receives.pop_front();
    }
  }
  // One launch for all that one GPU receives in one capture, or outside of any.
  const auto place = [](const Matched& message) {
    const Arrival& arrival = message.receive.guest->arrival;
    return std::pair(arrival.device, arrival.capture);
  };
  std::ranges::stable_sort(matched, {}, place);
  for (auto begin = matched.begin(); begin != matched.end();) {
    const auto end = std::find_if(begin, matched.end(), [&](const Matched& message) {
      return place(message) != place(*begin);
    });
    launch_messages({begin, end});
    begin = end;
  }
}

void Meeting::launch_messages(std::span<Matched> messages) {
  Guest& host = *messages.front().receive.guest;
  const CurrentDevice current(host.arrival.device);
  std::vector<coll::gpu::Copy> copies;
  for (const Matched& message : messages) {
    const Operation& send = message.send.operation;
    const Operation& receive = message.receive.operation;
    const std::size_t bytes = send.count * type_size(send.type);
    if (bytes != receive.count * type_size(receive.type)) {
      throw Error(ncclInvalidUsage, "rank {} sends {} bytes to rank {}, which receives {}",
                  message.send.guest->arrival.rank, bytes, message.receive.guest->arrival.rank,
                  receive.count * type_size(receive.type));
    }
    const bool together =
        message.send.guest->arrival.capture == message.receive.guest->arrival.capture;
    if (together && bytes != 0) {
      join(host, *message.send.guest);
      join(host, *message.receive.guest);
      copies.push_back({send.send, receive.receive, bytes});
    }
    settle(message.send, !together);
    settle(message.receive, !together);
  }
  launch_copies(copies, host.arrival.stream);
}

void Meeting::settle(const Pending& one, bool alone) {
  --one.guest->open;
  if (alone) one.guest->alone.push_back(one.operation);
  if (!contains(touched_, one.guest)) touched_.push_back(one.guest);
}

/// What comes in the host's stream from now on is behind all that the guest's stream held when it
/// came.
void Meeting::join(Guest& host, Guest& guest) {
  const cudaStream_t stream = host.arrival.stream;
  if (!contains(guest.hosts, stream)) guest.hosts.push_back(stream);
  if (contains(guest.joined, stream)) return;
  guest.joined.push_back(stream);
  if (guest.arrival.stream == stream && guest.arrival.device == host.arrival.device) return;
  Events& events = guest.arrival.capture != 0 ? captured_ : eager_;
  cudaEvent_t event = events.ready[static_cast<std::size_t>(guest.arrival.rank)];
  if (!guest.is_recorded) {
    const CurrentDevice current(guest.arrival.device);
    check(cudaEventRecord(event, guest.arrival.stream), "recording an event");
    guest.is_recorded = true;
  }
  check(cudaStreamWaitEvent(stream, event, 0), "making a stream wait for an event");
}

/// Puts the streams of all guests behind what was launched for them.
void Meeting::leave() {
  std::vector<cudaStream_t> hosts;
  std::vector<cudaEvent_t> done;
  std::map<int, std::size_t> used;
  const auto event_of = [&](cudaStream_t stream, const Guest& guest) {
    const auto known = std::find(hosts.begin(), hosts.end(), stream);
    if (known != hosts.end()) return done[static_cast<std::size_t>(known - hosts.begin())];
    const auto host = std::ranges::find_if(
        touched_, [&](const auto& other) { return other->arrival.stream == stream; });
    const int device = (*host)->arrival.device;
    auto& list = (guest.arrival.capture != 0 ? captured_ : eager_).done[device];
    const std::size_t index = used[device]++;
    if (index == list.size()) list.push_back(create_event(device));
    const CurrentDevice current(device);
    check(cudaEventRecord(list[index], stream), "recording an event");
    hosts.push_back(stream);
    done.push_back(list[index]);
    return list[index];
  };
  for (const auto& guest : touched_) {
    const CurrentDevice current(guest->arrival.device);
    for (cudaStream_t stream : guest->hosts) {
      cudaEvent_t event = event_of(stream, *guest);
      if (stream != guest->arrival.stream) {
        check(cudaStreamWaitEvent(guest->arrival.stream, event, 0),
              "making a stream wait for an event");
      }
    }
    guest->hosts.clear();
  }
  for (const auto& guest : touched_) {
    if (guest->open == 0) guest->is_settled.store(true, std::memory_order_release);
  }
  touched_.clear();
}

}  // namespace ripieno::plan::gpu

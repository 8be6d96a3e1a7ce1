// Asking for mappings, and making them.
#include "plan/cuda/regions.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/futex.h"

namespace ripieno::plan::gpu {
namespace {

constexpr std::chrono::seconds kAnswerTimeout{20};
constexpr std::chrono::milliseconds kLook{50};
/// Mappings of freed memory that are kept before they are worth the wait that unmapping is.
constexpr std::size_t kMostRetired = 32;

using device::cuda::Allocation;

}  // namespace

Regions::Regions(Page& page, Sequencer& sequencer, std::vector<bool> same_process)
    : page_(page), sequencer_(sequencer), same_process_(std::move(same_process)) {}

const std::byte* Regions::address_for(int peer, const void* pointer) {
  const auto* const bytes = static_cast<const std::byte*>(pointer);
  if (pointer == nullptr || same_process_[static_cast<std::size_t>(peer)]) return bytes;
  const Allocation allocation = device::cuda::allocation_of(pointer);
  const std::lock_guard lock(mutex_);
  Region& region = find(allocation);
  auto known = region.base_at.find(peer);
  if (known == region.base_at.end()) {
    if (!region.exported) region.exported = std::make_unique<device::cuda::Export>(allocation);
    const auto slot = static_cast<std::uint32_t>(&region - regions_.data());
    known = region.base_at.emplace(peer, ask(peer, slot, region.exported->handle())).first;
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  return reinterpret_cast<const std::byte*>(known->second) + (bytes - allocation.begin);
}

Regions::Region& Regions::find(const Allocation& allocation) {
  for (Region& region : regions_) {
    const Allocation& other = region.allocation;
    if (other.begin < allocation.begin + allocation.bytes &&
        allocation.begin < other.begin + other.bytes) {
      if (other.id != allocation.id || other.begin != allocation.begin) {
        // The memory that was here has been freed; peers unmap it when they map the new one.
        region.allocation = allocation;
        region.exported.reset();
        region.base_at.clear();
      }
      return region;
    }
  }
  return regions_.emplace_back(Region{allocation, nullptr, {}});
}

std::uint64_t Regions::ask(int peer, std::uint32_t slot, const device::cuda::ShareHandle& handle) {
  MapRequest& request = page_.request(sequencer_.rank(), peer);
  request.slot = slot;
  request.handle = handle;
  request.address = 0;
  request.state.store(MapRequest::kAsked, std::memory_order_seq_cst);
  sequencer_.team().page().ring_always(peer);
  const auto end = std::chrono::steady_clock::now() + kAnswerTimeout;
  while (request.state.load(std::memory_order_acquire) != MapRequest::kAnswered) {
    futex_wait(request.state, MapRequest::kAsked, kLook, FutexScope::kShared);
    if (sequencer_.stopped()) {
      throw Error(sequencer_.failure(), "{}", sequencer_.failure_text());
    }
    if (std::chrono::steady_clock::now() >= end) {
      throw Error(ncclRemoteError, "rank {} has not mapped a buffer of rank {} within {} s", peer,
                  sequencer_.rank(), kAnswerTimeout.count());
    }
  }
  const std::uint64_t address = request.address;
  const std::string failure = request.failure.data();
  request.state.store(MapRequest::kIdle, std::memory_order_release);
  if (address == 0) {
    throw Error(ncclUnhandledCudaError, "rank {} cannot map a buffer of rank {}: {}", peer,
                sequencer_.rank(), failure);
  }
  return address;
}

void Imports::serve() {
  for (int peer = 0; peer < page_.ranks(); ++peer) {
    MapRequest& request = page_.request(peer, rank_);
    if (request.state.load(std::memory_order_seq_cst) == MapRequest::kAsked) {
      answer(peer, request);
    }
  }
}

bool Imports::is_untidy() {
  const std::lock_guard lock(mutex_);
  return retired_.size() > kMostRetired;
}

void Imports::tidy() {
  const std::lock_guard lock(mutex_);
  retired_.clear();
}

void Imports::answer(int peer, MapRequest& request) {
  request.address = 0;
  try {
    auto& mapped = mapped_[{peer, request.slot}];
    if (mapped) {
      const std::lock_guard lock(mutex_);
      retired_.push_back(std::move(mapped));
    }
    try {
      mapped = std::make_unique<device::cuda::Import>(request.handle);
    } catch (const Error&) {
      // The driver may take it for memory that was at the same place and is still mapped.
      tidy();
      mapped = std::make_unique<device::cuda::Import>(request.handle);
    }
    request.address = reinterpret_cast<std::uintptr_t>(mapped->begin());
  } catch (const std::exception& error) {
    const std::size_t length = std::min(std::strlen(error.what()), request.failure.size() - 1);
    std::memcpy(request.failure.data(), error.what(), length);
    request.failure[length] = '\0';
  }
  request.state.store(MapRequest::kAnswered, std::memory_order_seq_cst);
  futex_wake(request.state, std::numeric_limits<int>::max(), FutexScope::kShared);
}

}  // namespace ripieno::plan::gpu

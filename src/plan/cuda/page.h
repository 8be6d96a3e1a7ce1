// The page through which ranks on GPUs meet: host memory that the streams of every rank write, wait
// on and read, mapped by all processes of a communicator. Flags go back to zero when they have been
// seen, so the same words serve every operation, captured or not, without counting.
//
//     rank r:    slot[r] = what it brings; ready[r] = 1; wait until done[r] == 1; done[r] = 0
//     leader:    wait until all ready == 1; kernel, at whose end all ready = 0, all done = 1
//     sender:    mail = address, bytes; posted = 1; wait until taken == 1; taken = 0
//     receiver:  wait until posted == 1; kernel; posted = 0; taken = 1
//
// None of this needs a kernel that waits: streams wait by themselves, at no cost to those that
// share the GPU.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/unique_fd.h"
#include "coll/cuda/work.h"
#include "device/cuda/memory.h"

namespace ripieno::plan::gpu {

/// Messages that a pair can have in the air in one direction.
inline constexpr std::size_t kMailDepth = 8;

using coll::gpu::RankFlags;

struct Mail {
  coll::gpu::PostedMessage message;
  std::uint32_t posted;
  std::uint32_t taken;
  std::uint64_t unused;
};
static_assert(sizeof(Mail) == 32);

/// One process asks another one to map an allocation of its own. Written by the asking rank, except
/// the answer; `state` goes 0 -> asked -> answered -> 0.
struct alignas(64) MapRequest {
  enum State : std::uint32_t { kIdle, kAsked, kAnswered };
  std::atomic<std::uint32_t> state;
  std::uint32_t
      slot;  ///< Which of the asking rank's allocations; an earlier one there is unmapped.
  device::cuda::ShareHandle handle;
  std::uint64_t address;  ///< Answer: where it lies in the other process, 0 if it failed.
  std::array<char, 200> failure;
};

class Page {
 public:
  /// Creates a page for `ranks` ranks, or maps the one behind `fd`. Pins it for the GPUs of this
  /// process.
  Page(int ranks, UniqueFd fd);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  [[nodiscard]] coll::gpu::Fault& fault() const noexcept { return *fault_; }
  [[nodiscard]] coll::gpu::Slot& slot(int rank) const noexcept { return slots_[rank]; }
  [[nodiscard]] RankFlags& flags(int rank) const noexcept { return flags_[rank]; }
  [[nodiscard]] Mail& mail(int from, int to, std::size_t place) const noexcept {
    return mail_[pair(from, to) * kMailDepth + place];
  }
  [[nodiscard]] MapRequest& request(int from, int to) const noexcept {
    return requests_[pair(from, to)];
  }

  /// What a device of this process calls an address of the page.
  template <typename T>
  [[nodiscard]] T* on_device(const T* address) const noexcept {
    return reinterpret_cast<T*>(device_base_ +
                                (reinterpret_cast<const std::byte*>(address) - base_));
  }

 private:
  [[nodiscard]] std::size_t pair(int from, int to) const noexcept {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(to);
  }

  int ranks_;
  UniqueFd fd_;
  std::size_t bytes_;
  std::byte* base_;
  std::byte* device_base_ = nullptr;
  coll::gpu::Fault* fault_;
  coll::gpu::Slot* slots_;
  RankFlags* flags_;
  Mail* mail_;
  MapRequest* requests_;
};

}  // namespace ripieno::plan::gpu

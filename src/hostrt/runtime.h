// The C++ face of the host runtime: what the library above needs of virtual devices, their memory
// and their streams beyond the CUDA runtime's own C functions (which this library also implements,
// see cuda_api*.cc). Streams, events and graphs are the CUDA runtime's handles; errors are its
// codes, thrown as hostrt::RuntimeError where a function here fails.
//
// Memory of all virtual devices of a process (and its pinned host memory) lives in ONE sparse
// memfd, the arena, mapped at one address range. So other processes can reach a pointer exactly if
// it lies in that range, and a peer maps the arena once and then reaches every present and future
// allocation by its offset: no exchange of handles during an operation.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "hostrt/task.h"

#define RIPIENO_HOSTRT_API __attribute__((visibility("default")))

namespace ripieno::hostrt {

class RIPIENO_HOSTRT_API RuntimeError : public std::runtime_error {
 public:
  RuntimeError(cudaError_t code, const std::string& sentence)
      : std::runtime_error(sentence), code_(code) {}
  [[nodiscard]] cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

// ---- Devices ----

/// Number of virtual devices (RIPIENO_HOST_DEVICES, default 8).
RIPIENO_HOSTRT_API int device_count() noexcept;
/// The calling thread's current device.
RIPIENO_HOSTRT_API int current_device() noexcept;
RIPIENO_HOSTRT_API void set_current_device(int device);

// ---- Memory ----

/// Where the arena of this process is mapped. Lock-free; empty before the first allocation or
/// export.
RIPIENO_HOSTRT_API std::span<std::byte> arena() noexcept;
/// Offset of `pointer` in the arena if it lies inside it (allocated or not: no look-up, no lock).
RIPIENO_HOSTRT_API std::optional<std::uint64_t> arena_offset(const void* pointer) noexcept;

/// Allocates `bytes` of device memory of `device` in the arena, aligned to at least 256 bytes (4096
/// from 64 KiB up). Throws RuntimeError(cudaErrorMemoryAllocation).
RIPIENO_HOSTRT_API void* allocate(int device, std::size_t bytes);
/// Frees memory of allocate(); nullptr is allowed. Whole pages go back to the system at once.
RIPIENO_HOSTRT_API void release(void* pointer);

// ---- Sharing file descriptors between processes of a host ----

/// Tells another process how to fetch a file descriptor published here: the owner's abstract Unix
/// socket and a 256-bit secret that proves the right to it (a keyed challenge, the secret itself
/// never travels over the socket). Trivially copyable, at most 128 bytes; pass it only over an
/// authenticated channel.
struct FdTicket {
  std::array<char, 48> socket_name;  ///< Abstract name, without the leading NUL, NUL-padded.
  std::array<std::byte, 32> secret;  ///< Authority for this descriptor.
  std::uint64_t id;                  ///< Which descriptor of the owner.
  std::uint64_t bytes;               ///< Size of the file behind it.
};

/// Publishes `fd` (borrowed; it must stay open until withdraw_fd). Starts the share server thread
/// on first use.
RIPIENO_HOSTRT_API FdTicket publish_fd(int fd, std::uint64_t bytes);
RIPIENO_HOSTRT_API void withdraw_fd(const FdTicket& ticket) noexcept;

/// A fetched descriptor and who served it.
struct FetchedFd {
  int fd;    ///< Owned by the caller.
  int link;  ///< Connected socket to the owner's server, owned by the caller: it hangs up when the
             ///< owner dies.
  int owner_pid;  ///< In the caller's pid namespace; 0 if not visible there.
};
/// Fetches a published descriptor. Throws RuntimeError when the owner is gone, refuses, or
/// `timeout` passes.
RIPIENO_HOSTRT_API FetchedFd fetch_fd(const FdTicket& ticket, std::chrono::milliseconds timeout);

/// The ticket of this process's arena (created when need be).
RIPIENO_HOSTRT_API FdTicket arena_ticket();

// ---- Streams ----

/// A task and the stream it goes to; `stream` is any CUDA stream handle, the default ones included.
struct Submission {
  cudaStream_t stream;
  std::unique_ptr<Task> task;
};

/// Submits tasks in the given order. A task whose stream is being captured becomes a graph node (a
/// later graph launch submits clones). Otherwise, where the task's stream is idle and its inline
/// budget is not zero, this thread polls all such tasks in turn until they are done or the longest
/// budget has passed; what remains goes to the streams' workers. Never waits for a task beyond
/// that. Throws RuntimeError (invalid stream, failed capture).
RIPIENO_HOSTRT_API void submit(std::span<Submission> submissions);
RIPIENO_HOSTRT_API void submit(cudaStream_t stream, std::unique_ptr<Task> task);

/// An ordinary handle of `stream`, which may be a default stream of `device`: it means the same
/// stream whatever device is current. That of a thread's own default stream is good while the
/// thread lives.
RIPIENO_HOSTRT_API cudaStream_t explicit_stream(cudaStream_t stream, int device);

/// Whether `stream` is being captured right now.
RIPIENO_HOSTRT_API bool is_capturing(cudaStream_t stream);

/// The device a stream belongs to (the current device for the default streams).
RIPIENO_HOSTRT_API int stream_device(cudaStream_t stream);

}  // namespace ripieno::hostrt

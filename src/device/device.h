// The device seam: everything the library needs from the machine that holds the ranks' memory and
// runs their streams. `host/` implements it over the host runtime; a GPU backend implements the
// same interface. Nothing above this room knows which one it talks to. Streams, events and graphs
// travel as the CUDA runtime's handles in both cases.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hostrt/runtime.h"
#include "hostrt/task.h"

namespace ripieno::device {

/// Work of the library in stream order (see hostrt/task.h for the contract).
using Task = hostrt::Task;
using Submission = hostrt::Submission;

/// What another process of the host needs to map this process's device memory. Trivially copyable;
/// travels over the authenticated bootstrap only.
struct MemoryTicket {
  hostrt::FdTicket arena;
};

/// Device memory of another process, mapped here. Unmapped and closed with the object.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  /// The whole of the peer's device memory; an address inside it is base + the peer's own offset.
  [[nodiscard]] virtual std::span<std::byte> bytes() const noexcept = 0;
  /// The peer's process id as seen here, 0 if not visible.
  [[nodiscard]] virtual int process_id() const noexcept = 0;
  /// A socket that hangs up when the peer's process dies; stays owned by this object.
  [[nodiscard]] virtual int link() const noexcept = 0;
};

/// One device of this process. Thread-safe. Functions throw Error (ncclUnhandledCudaError,
/// ncclSystemError).
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual int ordinal() const noexcept = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string bus_id() const = 0;

  // Memory.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  /// Memory that any process of the host can map by handle, where that makes a difference.
  [[nodiscard]] virtual void* allocate_shareable(std::size_t bytes) { return allocate(bytes); }
  /// Memory of either kind.
  virtual void release(void* pointer) = 0;

  // Streams and stream-ordered operations.
  [[nodiscard]] virtual cudaStream_t create_stream() = 0;
  virtual void destroy_stream(cudaStream_t stream) = 0;
  /// `stream` itself, or this device's default stream where it is NULL (which otherwise means the
  /// current device's).
  [[nodiscard]] virtual cudaStream_t explicit_stream(cudaStream_t stream) = 0;
  virtual void synchronize(cudaStream_t stream) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) = 0;
  virtual void fill(void* to, std::byte value, std::size_t bytes, cudaStream_t stream) = 0;

  // Events that take the time.
  [[nodiscard]] virtual cudaEvent_t create_event() = 0;
  virtual void destroy_event(cudaEvent_t event) = 0;
  virtual void record(cudaEvent_t event, cudaStream_t stream) = 0;
  /// Orders what comes later in `stream` behind the last record of `event`.
  virtual void wait(cudaStream_t stream, cudaEvent_t event) = 0;
  [[nodiscard]] virtual std::chrono::duration<double> elapsed(cudaEvent_t from, cudaEvent_t to) = 0;

  // Graphs.
  virtual void begin_capture(cudaStream_t stream) = 0;
  [[nodiscard]] virtual cudaGraphExec_t end_capture(cudaStream_t stream) = 0;
  virtual void launch_graph(cudaGraphExec_t graph, cudaStream_t stream) = 0;
  virtual void destroy_graph(cudaGraphExec_t graph) = 0;
};

/// The devices of this process and what they share.
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string name() const = 0;  ///< "host" or "cuda"
  [[nodiscard]] virtual int device_count() const = 0;
  [[nodiscard]] virtual int current_device() const = 0;
  virtual void set_current_device(int ordinal) = 0;
  [[nodiscard]] virtual Device& device(int ordinal) = 0;

  /// Offset of `pointer` in this process's shareable device memory; nothing if a peer process
  /// cannot map it. Fast: on the path of every operation.
  [[nodiscard]] virtual std::optional<std::uint64_t> share_offset(
      const void* pointer) const noexcept = 0;
  [[nodiscard]] virtual MemoryTicket memory_ticket() = 0;
  /// Throws Error (ncclRemoteError) when the process behind the ticket is gone, silent or refuses.
  [[nodiscard]] virtual std::shared_ptr<PeerMemory> import_memory(
      const MemoryTicket& ticket, std::chrono::milliseconds timeout) = 0;

  /// Hands tasks to their streams in this order (see hostrt::submit for inline execution and
  /// capture).
  virtual void submit(std::span<Submission> submissions) = 0;
  [[nodiscard]] virtual bool is_capturing(cudaStream_t stream) = 0;
};

/// The backend of this process, chosen once: `RIPIENO_DEVICE` (host, cuda or auto).
Backend& backend();

}  // namespace ripieno::device

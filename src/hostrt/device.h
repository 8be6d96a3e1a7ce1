// The virtual devices: how many, each one's default streams and the list of streams that are
// ordered with its legacy default stream, which peers are enabled; and what belongs to the calling
// thread (current device, last error).
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "hostrt/stream.h"

namespace ripieno::hostrt {

/// State of the calling thread.
struct ThreadState {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  bool in_host_function =
      false;  ///< Inside a callback, where calls of the runtime are not permitted.
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
};
ThreadState& thread_state() noexcept;

class VirtualDevice {
 public:
  explicit VirtualDevice(int ordinal);

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] Stream& legacy_stream() noexcept { return *legacy_; }
  /// The calling thread's own default stream, made on first use and closed when the thread ends.
  [[nodiscard]] Stream& thread_stream();

  /// A new stream with a handle; destroyed by destroy_stream().
  Stream& create_stream(StreamKind kind, int priority);
  void destroy_stream(Stream& stream);

  /// References to all streams of the device, the legacy one first.
  [[nodiscard]] std::vector<StreamRef> streams() const;
  /// The same, only those ordered with the legacy stream, without it. Empty (and lock-free) while
  /// there are none.
  [[nodiscard]] std::vector<StreamRef> blocking_streams() const;
  /// Waits for everything submitted so far.
  void synchronize();

  /// False if it was enabled (or disabled) before.
  bool enable_peer(int peer);
  bool disable_peer(int peer);
  void disable_all_peers();

  std::atomic<unsigned> flags{0};

 private:
  const int ordinal_;
  Stream* const legacy_;
  std::atomic<int> blocking_count_{0};
  mutable std::mutex mutex_;  // guards the two below
  std::vector<Stream*> streams_;
  std::vector<bool> peers_;
};

/// Throws RuntimeError(cudaErrorInvalidDevice).
VirtualDevice& device(int ordinal);
VirtualDevice& current_virtual_device();

/// The stream behind a handle, the special ones included. Throws
/// RuntimeError(cudaErrorInvalidResourceHandle).
Stream& resolve_stream(cudaStream_t handle);

}  // namespace ripieno::hostrt

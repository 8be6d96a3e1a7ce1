// The runtime's own tasks: copies, fills, host functions, and freeing in stream order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "hostrt/stream.h"
#include "hostrt/task.h"

namespace ripieno::hostrt {

/// `height` rows of `width` bytes, `depth` times; a plain copy is one row.
struct CopyShape {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  std::size_t to_slice = 0;  ///< Bytes from one layer to the next.
  std::size_t from_slice = 0;

  [[nodiscard]] std::size_t bytes() const noexcept { return width * height * depth; }
};

struct FillShape {
  std::byte* to = nullptr;
  unsigned value = 0;
  unsigned element_bytes = 1;  ///< 1, 2 or 4.
  std::size_t width = 0;       ///< In elements.
  std::size_t height = 1;
  std::size_t pitch = 0;  ///< In bytes.

  [[nodiscard]] std::size_t bytes() const noexcept { return width * element_bytes * height; }
};

void perform(const CopyShape& shape) noexcept;
void perform(const FillShape& shape) noexcept;

std::unique_ptr<Task> make_copy_task(const CopyShape& shape);
/// A plain copy of what `from` holds now.
std::unique_ptr<Task> make_snapshot_copy_task(const CopyShape& shape);
std::unique_ptr<Task> make_fill_task(const FillShape& shape);
std::unique_ptr<Task> make_host_function_task(cudaHostFn_t function, void* data);
std::unique_ptr<Task> make_callback_task(cudaStream_t stream, cudaStreamCallback_t callback,
                                         void* data);
std::unique_ptr<Task> make_free_task(void* pointer);
/// Does nothing, in its place.
std::unique_ptr<Task> make_empty_task();
/// Keeps `object` alive until its place in the stream.
std::unique_ptr<Task> make_keep_alive_task(std::shared_ptr<const void> object);

/// Up to this size an operation on an idle stream is done on the spot.
inline constexpr std::size_t kImmediateBytes = 64 * 1024;

/// Gives an operation to a stream: as a node while it is being captured, on the spot if it is small
/// and the stream idle, as a task otherwise.
void enqueue_fill(Stream& stream, const FillShape& shape);
/// The same for a copy. Where one end is pageable host memory the copy is finished (or its source
/// has been read) on return.
void enqueue_copy(Stream& stream, const CopyShape& shape);
/// A task of the runtime that is never tried inline.
void enqueue_task(Stream& stream, std::unique_ptr<Task> task, cudaGraphNodeType type);

}  // namespace ripieno::hostrt

// Launching the kernels: how a collective is cut into tiles and blocks, and which kernel runs it.
#pragma once

#include <cuda_runtime.h>

#include "coll/cuda/work.h"
#include "coll/operation.h"

namespace ripieno::coll::gpu {

/// Fills in what a Work says of `operation`, buffers apart; `ranks` must not exceed kMostRanks.
[[nodiscard]] Work describe(const Operation& operation, int ranks);

/// Blocks that launch() uses.
[[nodiscard]] int blocks_of(const Work& work);

/// Launches in `stream` of the current device. Throws Error.
void launch(const Work& work, cudaStream_t stream);

/// The same for a list of copies, `most_bytes` bytes each at most.
void launch(CopyList& list, std::uint64_t most_bytes, cudaStream_t stream);

/// Fetches what senders have posted for `list` to `near`, in device memory, and points the list
/// there; in front of launch().
void launch_look(CopyList& list, const std::uint32_t* stopped, PostedMessage* near,
                 cudaStream_t stream);

/// Loads all kernels onto the current device, so that no later launch has to: a load may wait for
/// the device, and streams may wait for that launch. Throws Error.
void load_kernels();

// What launching any kernel takes.
[[nodiscard]] std::uint64_t multiprocessors();
void launch_function(const void* function, std::uint64_t blocks, std::uint64_t threads,
                     const void* argument, cudaStream_t stream, const char* what);
void load_kernel(const void* function);

// The kernels: of Work, one a type and one that only moves; of CopyList; and of Look.
template <ncclDataType_t kType>
[[nodiscard]] const void* reduce_function();
[[nodiscard]] const void* move_function();
[[nodiscard]] const void* copy_function();
[[nodiscard]] const void* look_function();

}  // namespace ripieno::coll::gpu

// From the arguments of the CUDA runtime's copy and fill functions to shapes, with their checks.
// All throw RuntimeError(cudaErrorInvalidValue, cudaErrorInvalidPitchValue,
// cudaErrorInvalidMemcpyDirection).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "hostrt/operations.h"

namespace ripieno::hostrt {

CopyShape plain_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
CopyShape pitched_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t height, cudaMemcpyKind kind);
/// Between pitched memory; arrays are not supported.
CopyShape volume_copy(const cudaMemcpy3DParms* parameters);
FillShape plain_fill(void* to, int value, std::size_t bytes);
FillShape pitched_fill(void* to, std::size_t pitch, int value, std::size_t width,
                       std::size_t height);
/// A graph's fill node, with elements of 1, 2 or 4 bytes.
FillShape element_fill(const cudaMemsetParams* parameters);

}  // namespace ripieno::hostrt

// Checks of copy and fill arguments; see copy_shapes.h.
#include "hostrt/copy_shapes.h"

#include "hostrt/api.h"

namespace ripieno::hostrt {
namespace {

void check_kind(cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    fail(cudaErrorInvalidMemcpyDirection, "unknown direction of a copy");
  }
}

void check_pitch(std::size_t pitch, std::size_t width) {
  if (pitch < width) fail(cudaErrorInvalidPitchValue, "the pitch is smaller than a row");
}

const std::byte* corner(const cudaPitchedPtr& memory, const cudaPos& position) {
  const auto* base = static_cast<const std::byte*>(memory.ptr);
  return base + (position.z * memory.ysize + position.y) * memory.pitch + position.x;
}

}  // namespace

CopyShape plain_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  check_kind(kind);
  require(bytes == 0 || (to != nullptr && from != nullptr), "a copy from or to a null pointer");
  return {.to = static_cast<std::byte*>(to),
          .from = static_cast<const std::byte*>(from),
          .width = bytes};
}

CopyShape pitched_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  CopyShape shape = plain_copy(to, from, width * height == 0 ? 0 : width, kind);
  check_pitch(to_pitch, width);
  check_pitch(from_pitch, width);
  shape.height = height;
  shape.to_pitch = to_pitch;
  shape.from_pitch = from_pitch;
  return shape;
}

CopyShape volume_copy(const cudaMemcpy3DParms* parameters) {
  require(parameters != nullptr, "no parameters");
  const cudaMemcpy3DParms& given = *parameters;
  if (given.srcArray != nullptr || given.dstArray != nullptr) fail(cudaErrorNotSupported, "arrays");
  CopyShape shape =
      pitched_copy(given.dstPtr.ptr, given.dstPtr.pitch, given.srcPtr.ptr, given.srcPtr.pitch,
                   given.extent.width, given.extent.height, given.kind);
  shape.to = const_cast<std::byte*>(corner(given.dstPtr, given.dstPos));
  shape.from = corner(given.srcPtr, given.srcPos);
  shape.depth = given.extent.depth;
  shape.to_slice = given.dstPtr.pitch * given.dstPtr.ysize;
  shape.from_slice = given.srcPtr.pitch * given.srcPtr.ysize;
  return shape;
}

FillShape plain_fill(void* to, int value, std::size_t bytes) {
  require(bytes == 0 || to != nullptr, "a fill of a null pointer");
  return {.to = static_cast<std::byte*>(to), .value = static_cast<unsigned>(value), .width = bytes};
}

FillShape pitched_fill(void* to, std::size_t pitch, int value, std::size_t width,
                       std::size_t height) {
  FillShape shape = plain_fill(to, value, width * height == 0 ? 0 : width);
  check_pitch(pitch, width);
  shape.height = height;
  shape.pitch = pitch;
  return shape;
}

FillShape element_fill(const cudaMemsetParams* parameters) {
  require(parameters != nullptr, "no parameters");
  const cudaMemsetParams& given = *parameters;
  require(given.elementSize == 1 || given.elementSize == 2 || given.elementSize == 4,
          "elements of a fill have 1, 2 or 4 bytes");
  require(given.dst != nullptr, "a fill of a null pointer");
  if (given.height > 1) check_pitch(given.pitch, given.width * given.elementSize);
  return {.to = static_cast<std::byte*>(given.dst),
          .value = given.value,
          .element_bytes = given.elementSize,
          .width = given.width,
          .height = given.height,
          .pitch = given.pitch};
}

}  // namespace ripieno::hostrt

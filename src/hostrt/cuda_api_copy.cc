// Copies and fills. The plain forms work on the legacy default stream and return when the work is
// done.
#include "hostrt/api.h"
#include "hostrt/capture.h"
#include "hostrt/copy_shapes.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/operations.h"
#include "hostrt/submit.h"

namespace ripieno::hostrt::cuda {
namespace {

/// Waits for what the stream has been given, unless it is being captured.
void finish(Stream& stream) {
  if (!is_captured(stream)) stream.wait_for(stream.submitted());
}

void copy_now(const CopyShape& shape) {
  refuse_unsafe_call();
  Stream& stream = current_virtual_device().legacy_stream();
  enqueue_copy(stream, shape);
  finish(stream);
}

void fill_now(const FillShape& shape) {
  refuse_unsafe_call();
  Stream& stream = current_virtual_device().legacy_stream();
  enqueue_fill(stream, shape);
  finish(stream);
}

}  // namespace

cudaError_t cudaMemcpy(void* dst, const void* src, size_t size, cudaMemcpyKind kind) {
  return call([&] { copy_now(plain_copy(dst, src, size, kind)); });
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call([&] { enqueue_copy(resolve_stream(stream), plain_copy(dst, src, size, kind)); });
}

cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t size) {
  return call([&] {
    device(dstDevice);
    device(srcDevice);
    copy_now(plain_copy(dst, src, size, cudaMemcpyDefault));
  });
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice,
                                size_t size, cudaStream_t stream) {
  return call([&] {
    device(dstDevice);
    device(srcDevice);
    enqueue_copy(resolve_stream(stream), plain_copy(dst, src, size, cudaMemcpyDefault));
  });
}

cudaError_t cudaMemcpy2D(void* dst, size_t dstPitch, const void* src, size_t srcPitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return call([&] { copy_now(pitched_copy(dst, dstPitch, src, srcPitch, width, height, kind)); });
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dstPitch, const void* src, size_t srcPitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return call([&] {
    enqueue_copy(resolve_stream(stream),
                 pitched_copy(dst, dstPitch, src, srcPitch, width, height, kind));
  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return call([&] { copy_now(volume_copy(parameters)); });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return call([&] { enqueue_copy(resolve_stream(stream), volume_copy(parameters)); });
}

cudaError_t cudaMemset(void* pointer, int value, size_t size) {
  return call([&] { fill_now(plain_fill(pointer, value, size)); });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t size, cudaStream_t stream) {
  return call([&] { enqueue_fill(resolve_stream(stream), plain_fill(pointer, value, size)); });
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return call([&] { fill_now(pitched_fill(pointer, pitch, value, width, height)); });
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return call([&] {
    enqueue_fill(resolve_stream(stream), pitched_fill(pointer, pitch, value, width, height));
  });
}

}  // namespace ripieno::hostrt::cuda

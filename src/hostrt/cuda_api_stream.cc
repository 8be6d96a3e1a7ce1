// Streams: life, waiting, attributes, host functions.
#include <algorithm>

#include "hostrt/api.h"
#include "hostrt/capture.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/event.h"
#include "hostrt/operations.h"
#include "hostrt/submit.h"

namespace ripieno::hostrt::cuda {
namespace {

/// Waits for the legacy stream mean the blocking streams too: it comes after all of them.
bool all_idle(Stream& stream) {
  if (!stream.idle()) return false;
  if (stream.kind() != StreamKind::kLegacy) return true;
  const auto others = device(stream.device()).blocking_streams();
  return std::all_of(others.begin(), others.end(),
                     [](const StreamRef& other) { return other->idle(); });
}

void wait_for_all(Stream& stream) {
  stream.wait_for(stream.submitted());
  if (stream.kind() != StreamKind::kLegacy) return;
  for (StreamRef& other : device(stream.device()).blocking_streams())
    other->wait_for(other->submitted());
}

void refuse_capture(Stream& stream) {
  refuse_while_captured(stream);
  if (stream.kind() == StreamKind::kLegacy) refuse_implicit_dependency(device(stream.device()));
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cuda::cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cuda::cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return call([&] {
    require(stream != nullptr, "no place for the stream");
    require(flags == cudaStreamDefault || flags == cudaStreamNonBlocking, "unknown stream flags");
    const StreamKind kind =
        flags == cudaStreamNonBlocking ? StreamKind::kNonBlocking : StreamKind::kBlocking;
    int least = 0;
    int greatest = 0;
    cuda::cudaDeviceGetStreamPriorityRange(&least, &greatest);
    Stream& made =
        current_virtual_device().create_stream(kind, std::clamp(priority, greatest, least));
    *stream = Stream::Pool::handle_of(&made);
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call([&] {
    Stream* doomed = Stream::Pool::find(stream);
    const bool special =
        stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    if (special || doomed == nullptr || doomed->kind() == StreamKind::kLegacy) {
      fail(cudaErrorInvalidResourceHandle,
           "not a stream that can be destroyed (default, or destroyed before)");
    }
    leave_capture(*doomed);
    device(doomed->device()).destroy_stream(*doomed);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call([&] {
    Stream& asked = resolve_stream(stream);
    refuse_capture(asked);
    return all_idle(asked) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call([&] {
    Stream& awaited = resolve_stream(stream);
    refuse_capture(awaited);
    wait_for_all(awaited);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return call([&] {
    require(flags == cudaEventWaitDefault || flags == cudaEventWaitExternal, "unknown flags");
    Stream& waiting = resolve_stream(stream);
    Event& awaited = resolve_event(event);
    if (flags == cudaEventWaitExternal && is_captured(waiting)) {
      capture_external_wait(waiting, event);
    } else if (!capture_wait(waiting, awaited)) {
      wait_for_event(waiting, awaited);
    }
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return call([&] {
    require(priority != nullptr, "no place for the priority");
    *priority = resolve_stream(stream).priority();
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return call([&] {
    require(flags != nullptr, "no place for the flags");
    const bool free = resolve_stream(stream).kind() == StreamKind::kNonBlocking;
    *flags = free ? cudaStreamNonBlocking : cudaStreamDefault;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return call([&] {
    require(id != nullptr, "no place for the id");
    *id = resolve_stream(stream).id();
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return call([&] {
    require(device != nullptr, "no place for the device");
    *device = resolve_stream(stream).device();
  });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  return call([&] {
    require(value != nullptr, "no place for the value");
    const Stream& asked = resolve_stream(stream);
    *value = {};
    if (attribute == cudaLaunchAttributePriority) value->priority = asked.priority();
    if (attribute == cudaLaunchAttributeSynchronizationPolicy)
      value->syncPolicy = cudaSyncPolicyAuto;
  });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID /*attribute*/,
                                   const cudaLaunchAttributeValue* value) {
  return call([&] {  // hints for a GPU
    require(value != nullptr, "no value");
    resolve_stream(stream);
  });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) {
  return call([&] {
    resolve_stream(dst);
    resolve_stream(src);
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t /*length*/,
                                     unsigned int flags) {
  return call([&] {  // managed memory is everybody's at all times
    require(pointer != nullptr, "no pointer");
    require(
        flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle,
        "flags must be one of cudaMemAttach*");
    resolve_stream(stream);
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                  void* userData, unsigned int flags) {
  return call([&] {
    require(callback != nullptr && flags == 0, "no callback, or flags not 0");
    Stream& target = resolve_stream(stream);
    refuse_while_captured(target);
    push_ordered(target, make_callback_task(stream, callback, userData));
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* userData) {
  return call([&] {
    require(function != nullptr, "no function");
    enqueue_task(resolve_stream(stream), make_host_function_task(function, userData),
                 cudaGraphNodeTypeHost);
  });
}

}  // namespace ripieno::hostrt::cuda

// Events: life, recording, waiting, elapsed time.
#include "hostrt/api.h"
#include "hostrt/capture.h"
#include "hostrt/cuda_functions.h"
#include "hostrt/event.h"
#include "hostrt/shared_event.h"

namespace ripieno::hostrt::cuda {
namespace {

/// The event's newest point, for a caller that cannot wait for a capture.
EventPoint uncaptured_point(Event& event) {
  EventPoint point = event.point();
  if (point.capture_id != 0)
    fail(cudaErrorCapturedEvent, "the event was last recorded in a capture");
  return point;
}

}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cuda::cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call([&] {
    constexpr unsigned kKnown =
        cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    require(event != nullptr && (flags & ~kKnown) == 0, "no place for the event, or unknown flags");
    const bool interprocess = (flags & cudaEventInterprocess) != 0;
    require(!interprocess || (flags & cudaEventDisableTiming) != 0,
            "an event for other processes must be created with cudaEventDisableTiming");
    const int device = current_virtual_device().ordinal();
    auto shared = interprocess ? SharedEvent::create(device) : nullptr;
    Event* made = Event::Pool::create(device, flags);
    made->share(std::move(shared));
    *event = Event::Pool::handle_of(made);
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call([&] { Event::Pool::destroy(&resolve_event(event)); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cuda::cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return call([&] {
    require(flags == cudaEventRecordDefault || flags == cudaEventRecordExternal, "unknown flags");
    Event& recorded = resolve_event(event);
    Stream& target = resolve_stream(stream);
    if (recorded.device() != target.device()) {
      fail(cudaErrorInvalidResourceHandle, "the event and the stream belong to different devices");
    }
    if (!is_captured(target)) {
      recorded.record(target);
    } else if (flags == cudaEventRecordExternal) {
      capture_external_record(target, event);
    } else {
      capture_record(target, recorded);
    }
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call([&] {
    Event& asked = resolve_event(event);
    refuse_unsafe_call();
    if (asked.shared()) {
      return asked.shared()->reached(asked.shared()->newest()) ? cudaSuccess : cudaErrorNotReady;
    }
    return uncaptured_point(asked).reached() ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call([&] {
    Event& awaited = resolve_event(event);
    refuse_unsafe_call();
    const EventPoint point = uncaptured_point(awaited);
    if (point.stream) point.stream->wait_for(point.position);
    if (awaited.shared()) awaited.shared()->wait(awaited.shared()->newest());
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call([&] {
    require(milliseconds != nullptr, "no place for the time");
    Event& first = resolve_event(start);
    Event& second = resolve_event(end);
    const EventPoint from = uncaptured_point(first);
    const EventPoint to = uncaptured_point(second);
    if (!first.timed() || !second.timed() || !from.recorded || !to.recorded) {
      fail(cudaErrorInvalidResourceHandle, "an event without timing, or not recorded");
    }
    if (!from.reached() || !to.reached()) return cudaErrorNotReady;
    constexpr double kNanosecondsPerMillisecond = 1e6;
    *milliseconds =
        static_cast<float>(static_cast<double>(to.time->load(std::memory_order_relaxed) -
                                               from.time->load(std::memory_order_relaxed)) /
                           kNanosecondsPerMillisecond);
    return cudaSuccess;
  });
}

}  // namespace ripieno::hostrt::cuda

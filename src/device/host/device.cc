// Calls of the host runtime on behalf of one virtual device.
#include "device/host/device.h"

#include <array>

#include "device/host/errors.h"
#include "hostrt/cuda_functions.h"

namespace ripieno::device::host {
namespace {

namespace cuda = hostrt::cuda;

/// Makes a device the calling thread's current one, and the former one again at the end of the
/// scope.
class CurrentDevice {
 public:
  explicit CurrentDevice(int ordinal)
      : former_(hostrt::current_device()), changed_(former_ != ordinal) {
    if (changed_) guarded("selecting a device", [&] { hostrt::set_current_device(ordinal); });
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() {
    if (changed_) cuda::cudaSetDevice(former_);
  }

 private:
  int former_;
  bool changed_;
};

}  // namespace

std::string HostDevice::name() const {
  cudaDeviceProp properties{};
  check(cuda::cudaGetDeviceProperties(&properties, ordinal_), "reading the properties of a device");
  return properties.name;
}

std::string HostDevice::bus_id() const {
  std::array<char, 32> text{};
  check(cuda::cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), ordinal_),
        "reading the bus id of a device");
  return text.data();
}

void* HostDevice::allocate(std::size_t bytes) {
  return guarded("allocating device memory", [&] { return hostrt::allocate(ordinal_, bytes); });
}

void HostDevice::release(void* pointer) {
  guarded("freeing device memory", [&] { hostrt::release(pointer); });
}

cudaStream_t HostDevice::create_stream() {
  const CurrentDevice current(ordinal_);
  cudaStream_t stream = nullptr;
  check(cuda::cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return stream;
}

void HostDevice::destroy_stream(cudaStream_t stream) {
  check(cuda::cudaStreamDestroy(stream), "destroying a stream");
}

cudaStream_t HostDevice::explicit_stream(cudaStream_t stream) {
  return hostrt::explicit_stream(stream, ordinal_);
}

void HostDevice::synchronize(cudaStream_t stream) {
  const CurrentDevice current(ordinal_);
  check(cuda::cudaStreamSynchronize(stream), "waiting for a stream");
}

void HostDevice::copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const CurrentDevice current(ordinal_);
  check(cuda::cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying memory");
}

void HostDevice::fill(void* to, std::byte value, std::size_t bytes, cudaStream_t stream) {
  const CurrentDevice current(ordinal_);
  check(cuda::cudaMemsetAsync(to, std::to_integer<int>(value), bytes, stream), "filling memory");
}

cudaEvent_t HostDevice::create_event() {
  const CurrentDevice current(ordinal_);
  cudaEvent_t event = nullptr;
  check(cuda::cudaEventCreateWithFlags(&event, cudaEventDefault), "creating an event");
  return event;
}

void HostDevice::destroy_event(cudaEvent_t event) {
  check(cuda::cudaEventDestroy(event), "destroying an event");
}

void HostDevice::record(cudaEvent_t event, cudaStream_t stream) {
  const CurrentDevice current(ordinal_);
  check(cuda::cudaEventRecord(event, stream), "recording an event");
}

void HostDevice::wait(cudaStream_t stream, cudaEvent_t event) {
  const CurrentDevice current(ordinal_);
  check(cuda::cudaStreamWaitEvent(stream, event, 0), "making a stream wait for an event");
}

std::chrono::duration<double> HostDevice::elapsed(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  check(cuda::cudaEventElapsedTime(&milliseconds, from, to), "reading the time between two events");
  return std::chrono::duration<double, std::milli>(milliseconds);
}

void HostDevice::begin_capture(cudaStream_t stream) {
  check(cuda::cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
        "beginning the capture of a stream");
}

cudaGraphExec_t HostDevice::end_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  check(cuda::cudaStreamEndCapture(stream, &graph), "ending the capture of a stream");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t instantiated = cuda::cudaGraphInstantiate(&executable, graph, 0);
  cuda::cudaGraphDestroy(graph);
  check(instantiated, "instantiating a captured graph");
  return executable;
}

void HostDevice::launch_graph(cudaGraphExec_t graph, cudaStream_t stream) {
  check(cuda::cudaGraphLaunch(graph, stream), "launching a graph");
}

void HostDevice::destroy_graph(cudaGraphExec_t graph) {
  check(cuda::cudaGraphExecDestroy(graph), "destroying a graph");
}

}  // namespace ripieno::device::host

// One GPU. Memory that other processes are to map by handle comes from memory.h.
#include "device/cuda/device.h"

#include <array>

#include "device/cuda/errors.h"
#include "device/cuda/memory.h"

namespace ripieno::device::cuda {

std::string CudaDevice::name() const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal_), "reading the properties of a device");
  return properties.name;
}

std::string CudaDevice::bus_id() const {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), ordinal_),
        "reading the bus id of a device");
  return text.data();
}

void* CudaDevice::allocate(std::size_t bytes) {
  const CurrentDevice current(ordinal_);
  void* pointer = nullptr;
  check(cudaMalloc(&pointer, bytes), "allocating device memory");
  return pointer;
}

void* CudaDevice::allocate_shareable(std::size_t bytes) {
  const CurrentDevice current(ordinal_);
  return cuda::allocate_shareable(ordinal_, bytes);
}

void CudaDevice::release(void* pointer) {
  const CurrentDevice current(ordinal_);
  if (!release_shareable(pointer)) check(cudaFree(pointer), "freeing device memory");
}

cudaStream_t CudaDevice::create_stream() {
  const CurrentDevice current(ordinal_);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return stream;
}

void CudaDevice::destroy_stream(cudaStream_t stream) {
  check(cudaStreamDestroy(stream), "destroying a stream");
}

void CudaDevice::synchronize(cudaStream_t stream) {
  const CurrentDevice current(ordinal_);
  check(cudaStreamSynchronize(stream), "waiting for a stream");
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const CurrentDevice current(ordinal_);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying memory");
}

void CudaDevice::fill(void* to, std::byte value, std::size_t bytes, cudaStream_t stream) {
  const CurrentDevice current(ordinal_);
  check(cudaMemsetAsync(to, std::to_integer<int>(value), bytes, stream), "filling memory");
}

cudaEvent_t CudaDevice::create_event() {
  const CurrentDevice current(ordinal_);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault), "creating an event");
  return event;
}

void CudaDevice::destroy_event(cudaEvent_t event) {
  check(cudaEventDestroy(event), "destroying an event");
}

void CudaDevice::record(cudaEvent_t event, cudaStream_t stream) {
  const CurrentDevice current(ordinal_);
  check(cudaEventRecord(event, stream), "recording an event");
}

void CudaDevice::wait(cudaStream_t stream, cudaEvent_t event) {
  const CurrentDevice current(ordinal_);
  check(cudaStreamWaitEvent(stream, event, 0), "making a stream wait for an event");
}

std::chrono::duration<double> CudaDevice::elapsed(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from, to), "reading the time between two events");
  return std::chrono::duration<double, std::milli>(milliseconds);
}

void CudaDevice::begin_capture(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
        "beginning the capture of a stream");
}

cudaGraphExec_t CudaDevice::end_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "ending the capture of a stream");
  // Other streams of this thread may still be captured.
  const RelaxedCapture relaxed;
  cudaGraphExec_t executable = nullptr;
  const cudaError_t instantiated = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(instantiated, "instantiating a captured graph");
  return executable;
}

void CudaDevice::launch_graph(cudaGraphExec_t graph, cudaStream_t stream) {
  check(cudaGraphLaunch(graph, stream), "launching a graph");
}

void CudaDevice::destroy_graph(cudaGraphExec_t graph) {
  check(cudaGraphExecDestroy(graph), "destroying a graph");
}

}  // namespace ripieno::device::cuda

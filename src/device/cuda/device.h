// Calls of the CUDA runtime on behalf of one GPU.
#pragma once

#include "device/device.h"

namespace ripieno::device::cuda {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) noexcept : ordinal_(ordinal) {}

  [[nodiscard]] int ordinal() const noexcept override { return ordinal_; }
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string bus_id() const override;

  [[nodiscard]] void* allocate(std::size_t bytes) override;
  [[nodiscard]] void* allocate_shareable(std::size_t bytes) override;
  void release(void* pointer) override;

  [[nodiscard]] cudaStream_t create_stream() override;
  void destroy_stream(cudaStream_t stream) override;
  [[nodiscard]] cudaStream_t explicit_stream(cudaStream_t stream) override { return stream; }
  void synchronize(cudaStream_t stream) override;
  void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) override;
  void fill(void* to, std::byte value, std::size_t bytes, cudaStream_t stream) override;

  [[nodiscard]] cudaEvent_t create_event() override;
  void destroy_event(cudaEvent_t event) override;
  void record(cudaEvent_t event, cudaStream_t stream) override;
  void wait(cudaStream_t stream, cudaEvent_t event) override;
  [[nodiscard]] std::chrono::duration<double> elapsed(cudaEvent_t from, cudaEvent_t to) override;

  void begin_capture(cudaStream_t stream) override;
  [[nodiscard]] cudaGraphExec_t end_capture(cudaStream_t stream) override;
  void launch_graph(cudaGraphExec_t graph, cudaStream_t stream) override;
  void destroy_graph(cudaGraphExec_t graph) override;

 private:
  int ordinal_;
};

}  // namespace ripieno::device::cuda

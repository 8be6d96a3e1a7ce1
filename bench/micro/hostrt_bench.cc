// What the host runtime adds to an operation: submitting and waiting for a task that finishes at
// once (the inline path), the same by way of a worker thread, and the small operations of the
// runtime itself.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <vector>

#include "hostrt/cuda_functions.h"
#include "hostrt/runtime.h"

namespace {

namespace cuda = ripieno::hostrt::cuda;
using ripieno::hostrt::Submission;
using ripieno::hostrt::Task;

/// Finishes at the first look.
class InstantTask final : public Task {
 public:
  explicit InstantTask(std::chrono::nanoseconds budget) : budget_(budget) {}
  bool poll() noexcept override { return true; }
  void run() noexcept override {}
  [[nodiscard]] std::chrono::nanoseconds inline_budget() const noexcept override { return budget_; }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<InstantTask>(budget_);
  }

 private:
  std::chrono::nanoseconds budget_;
};

constexpr std::chrono::microseconds kInline{20};
constexpr std::chrono::nanoseconds kWorker{0};

class BenchStream {
 public:
  BenchStream() { cuda::cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking); }
  ~BenchStream() { cuda::cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

void submit_and_synchronize(benchmark::State& state, std::chrono::nanoseconds budget) {
  BenchStream stream;
  for (auto _ : state) {
    ripieno::hostrt::submit(stream.handle, std::make_unique<InstantTask>(budget));
    cuda::cudaStreamSynchronize(stream.handle);
  }
}
BENCHMARK_CAPTURE(submit_and_synchronize, inline_attempt, kInline);
BENCHMARK_CAPTURE(submit_and_synchronize, worker, kWorker);

void submit_to_legacy_stream(benchmark::State& state) {
  for (auto _ : state) {
    ripieno::hostrt::submit(nullptr, std::make_unique<InstantTask>(kInline));
    cuda::cudaStreamSynchronize(nullptr);
  }
}
BENCHMARK(submit_to_legacy_stream);

void submit_group(benchmark::State& state) {
  std::vector<BenchStream> streams(static_cast<std::size_t>(state.range(0)));
  std::vector<Submission> group(streams.size());
  for (auto _ : state) {
    for (std::size_t index = 0; index < streams.size(); ++index) {
      group[index] = {streams[index].handle, std::make_unique<InstantTask>(kInline)};
    }
    ripieno::hostrt::submit(group);
  }
}
BENCHMARK(submit_group)->Arg(2)->Arg(8);

void record_and_wait(benchmark::State& state) {
  BenchStream first;
  BenchStream second;
  cudaEvent_t event = nullptr;
  cuda::cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  for (auto _ : state) {
    cuda::cudaEventRecord(event, first.handle);
    cuda::cudaStreamWaitEvent(second.handle, event, 0);
  }
  cuda::cudaEventDestroy(event);
}
BENCHMARK(record_and_wait);

void copy_small(benchmark::State& state) {
  BenchStream stream;
  void* memory = nullptr;
  cuda::cudaMalloc(&memory, 2 * 4096);
  for (auto _ : state) {
    cuda::cudaMemcpyAsync(memory, static_cast<char*>(memory) + 4096, 1024, cudaMemcpyDeviceToDevice,
                          stream.handle);
    cuda::cudaStreamSynchronize(stream.handle);
  }
  cuda::cudaFree(memory);
}
BENCHMARK(copy_small);

void launch_graph(benchmark::State& state) {
  BenchStream stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cuda::cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeRelaxed);
  for (int node = 0; node < state.range(0); ++node) {
    ripieno::hostrt::submit(stream.handle, std::make_unique<InstantTask>(kInline));
  }
  cuda::cudaStreamEndCapture(stream.handle, &graph);
  cuda::cudaGraphInstantiate(&exec, graph, 0);
  for (auto _ : state) {
    cuda::cudaGraphLaunch(exec, stream.handle);
    cuda::cudaStreamSynchronize(stream.handle);
  }
  cuda::cudaGraphExecDestroy(exec);
  cuda::cudaGraphDestroy(graph);
}
BENCHMARK(launch_graph)->Arg(1)->Arg(10);

void allocate_and_release(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) ripieno::hostrt::release(ripieno::hostrt::allocate(0, bytes));
}
BENCHMARK(allocate_and_release)->Arg(512)->Arg(1 << 20);

}  // namespace

BENCHMARK_MAIN();

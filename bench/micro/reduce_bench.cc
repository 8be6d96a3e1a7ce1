// Speed of the CPU reductions and copies, in bytes of each input a second. Arguments: bytes of an
// input, inputs, outputs, store (0 cached, 1 streaming). Buffers lie on huge pages where the system
// allows it, as communication buffers do.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/reduce.h"

namespace {

using ripieno::ReduceKind;
using ripieno::Store;

class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory_, bytes_, MADV_HUGEPAGE);
    std::memset(memory_, 0x3C, bytes_);  // A normal value of every floating type.
  }
  Buffer(Buffer&& other) noexcept : memory_(other.memory_), bytes_(other.bytes_) {
    other.memory_ = nullptr;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_;
  std::size_t bytes_;
};

std::vector<Buffer> make_buffers(std::size_t count, std::size_t bytes) {
  std::vector<Buffer> buffers;
  for (std::size_t index = 0; index < count; ++index) buffers.emplace_back(bytes);
  return buffers;
}

void reduce(benchmark::State& state, ncclDataType_t type, ReduceKind kind) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto inputs = make_buffers(static_cast<std::size_t>(state.range(1)), bytes);
  const auto outputs = make_buffers(static_cast<std::size_t>(state.range(2)), bytes);
  const auto store = static_cast<Store>(state.range(3));
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (const Buffer& buffer : inputs) from.push_back(buffer.data());
  for (const Buffer& buffer : outputs) to.push_back(buffer.data());
  const ripieno::Reduction reduction{type, kind, static_cast<int>(from.size()), 0};
  for (auto _ : state) {
    ripieno::reduce(reduction, from, to, bytes / ripieno::type_size(type), store);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Buffer from(bytes);
  const Buffer to(bytes);
  for (auto _ : state) {
    ripieno::copy(to.data(), from.data(), bytes, static_cast<Store>(state.range(1)));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kMi = 1024 * kKi;

void float32_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bytes", "inputs", "outputs", "streaming"});
  for (const std::int64_t bytes : {std::int64_t{8}, 16L, 20L, 60L, kKi, 16 * kKi, 64 * kKi})
    bench->Args({bytes, 2, 2, 0});
  bench->Args({64 * kKi, 2, 1, 0});
  bench->Args({64 * kKi, 8, 8, 0});
  for (const std::int64_t streaming : {0, 1}) {
    bench->Args({64 * kMi, 2, 1, streaming});
    bench->Args({64 * kMi, 2, 2, streaming});
    bench->Args({16 * kMi, 8, 8, streaming});
    bench->Args({16 * kMi, 16, 1, streaming});
    bench->Args({4 * kMi, 64, 1, streaming});
  }
}

void one_shape(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bytes", "inputs", "outputs", "streaming"})->Args({64 * kKi, 2, 2, 0});
}

void copy_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bytes", "streaming"});
  for (const std::int64_t bytes : {64 * kKi, kMi, 64 * kMi}) {
    bench->Args({bytes, 0});
    bench->Args({bytes, 1});
  }
}

BENCHMARK_CAPTURE(reduce, float32_sum, ncclFloat32, ReduceKind::kSum)->Apply(float32_shapes);
BENCHMARK_CAPTURE(reduce, float32_average, ncclFloat32, ReduceKind::kAverage)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, float64_sum, ncclFloat64, ReduceKind::kSum)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, float64_average, ncclFloat64, ReduceKind::kAverage)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, float16_sum, ncclFloat16, ReduceKind::kSum)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, bfloat16_sum, ncclBfloat16, ReduceKind::kSum)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, bfloat16_average, ncclBfloat16, ReduceKind::kAverage)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, float8e4m3_sum, ncclFloat8e4m3, ReduceKind::kSum)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, float8e5m2_sum, ncclFloat8e5m2, ReduceKind::kSum)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, int8_prod, ncclInt8, ReduceKind::kProd)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, int32_average, ncclInt32, ReduceKind::kAverage)->Apply(one_shape);
BENCHMARK_CAPTURE(reduce, int64_average, ncclInt64, ReduceKind::kAverage)->Apply(one_shape);
BENCHMARK(copy)->Apply(copy_shapes);

}  // namespace

BENCHMARK_MAIN();

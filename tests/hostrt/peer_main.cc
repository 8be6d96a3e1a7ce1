// The other process of the share and interprocess tests. It plays the role named on its command
// line and talks over stdin and stdout in plain structures.
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "hostrt/cuda_functions.h"
#include "hostrt/runtime.h"

namespace {

namespace cuda = ripieno::hostrt::cuda;

void check(bool condition) {
  if (!condition) std::abort();
}

template <class Value>
void send(const Value& value) {
  check(write(STDOUT_FILENO, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
}

template <class Value>
Value receive() {
  Value value{};
  check(read(STDIN_FILENO, &value, sizeof value) == static_cast<ssize_t>(sizeof value));
  return value;
}

/// Allocates, writes a word, hands out the arena's ticket and the word's offset; then tells what
/// the word became.
void serve_arena() {
  auto* word = static_cast<volatile std::uint64_t*>(ripieno::hostrt::allocate(0, 4096));
  *word = 0x1234;
  send(ripieno::hostrt::arena_ticket());
  send(ripieno::hostrt::arena_offset(const_cast<std::uint64_t*>(word)).value());
  receive<char>();
  send(static_cast<std::uint64_t>(*word));
  receive<char>();
}

/// Exports device memory and an event; records the event when told to.
void export_handles() {
  void* memory = nullptr;
  cudaEvent_t event = nullptr;
  cudaIpcMemHandle_t memory_handle{};
  cudaIpcEventHandle_t event_handle{};
  check(cuda::cudaSetDevice(3) == cudaSuccess);
  check(cuda::cudaMalloc(&memory, 1 << 20) == cudaSuccess);
  check(cuda::cudaMemset(memory, 0x11, 1 << 20) == cudaSuccess);
  check(cuda::cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming) ==
        cudaSuccess);
  // A pointer into the middle makes a handle of the whole allocation.
  check(cuda::cudaIpcGetMemHandle(&memory_handle, static_cast<char*>(memory) + 5000) ==
        cudaSuccess);
  check(cuda::cudaIpcGetEventHandle(&event_handle, event) == cudaSuccess);
  send(memory_handle);
  send(event_handle);
  cudaStream_t stream = nullptr;
  check(cuda::cudaStreamCreate(&stream) == cudaSuccess);
  static bool go = false;
  check(cuda::cudaLaunchHostFunc(
            stream,
            [](void*) {
              receive<char>();
              go = true;
            },
            nullptr) == cudaSuccess);
  check(cuda::cudaMemsetAsync(memory, 0x22, 1 << 20, stream) == cudaSuccess);
  check(cuda::cudaEventRecord(event, stream) == cudaSuccess);
  send('r');
  check(cuda::cudaStreamSynchronize(stream) == cudaSuccess && go);
  receive<char>();
  send(static_cast<unsigned char*>(memory)[77]);
  receive<char>();
}

/// Tells how many devices there are here.
void count_devices() {
  int count = -1;
  const cudaError_t code = cuda::cudaGetDeviceCount(&count);
  send(count);
  send(code);
}

/// Allocates with little address space to be had; tells the arena's size, and whether too much is
/// refused.
void allocate_in_little_space() {
  const rlimit limit{4ULL << 30, 4ULL << 30};
  check(setrlimit(RLIMIT_AS, &limit) == 0);
  void* memory = nullptr;
  check(cuda::cudaMalloc(&memory, 1 << 20) == cudaSuccess);
  std::memset(memory, 1, 1 << 20);
  send(static_cast<std::uint64_t>(ripieno::hostrt::arena().size()));
  send(cuda::cudaMalloc(&memory, ripieno::hostrt::arena().size()));
}

/// Works, then ends without tidying up: nothing may crash on the way out.
void leave_work_behind() {
  static std::array<cudaStream_t, 3> streams{};
  void* memory = nullptr;
  check(cuda::cudaMalloc(&memory, 1 << 16) == cudaSuccess);
  ripieno::hostrt::arena_ticket();
  for (cudaStream_t& stream : streams) {
    check(cuda::cudaStreamCreate(&stream) == cudaSuccess);
    check(cuda::cudaLaunchHostFunc(
              stream, [](void*) { std::this_thread::sleep_for(std::chrono::seconds{5}); },
              nullptr) == cudaSuccess);
  }
  send('w');
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "arena") serve_arena();
  if (role == "handles") export_handles();
  if (role == "devices") count_devices();
  if (role == "little") allocate_in_little_space();
  if (role == "leave") leave_work_behind();
  return 0;
}

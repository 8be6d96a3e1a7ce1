// Times all-reduces of several ranks on one GPU through the NCCL API alone, so that the same binary
// measures any library: the loader decides which. Prints one line: microseconds an operation, back
// to back, each synchronised, and in a CUDA graph of 20.
//
//     all_reduce one|procs RANKS BYTES [ITERATIONS]
#include <cuda_runtime.h>
#include <nccl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kInGraph = 20;
constexpr int kRepeats = 5;

void check(cudaError_t code) {
  if (code != cudaSuccess) {
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(code));
    std::_Exit(1);
  }
}
void check(ncclResult_t code) {
  if (code != ncclSuccess) {
    std::fprintf(stderr, "NCCL: %s: %s\n", ncclGetErrorString(code), ncclGetLastError(nullptr));
    std::_Exit(1);
  }
}

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// What the processes of a run share.
struct Board {
  ncclUniqueId id;
  volatile int barriers[64];
  double result[3][64];
};

struct Rank {
  ncclComm_t comm;
  cudaStream_t stream;
  float* send;
  float* receive;
};

/// The ranks of one process.
class Party {
 public:
  Party(Board& board, int first, int mine, int ranks, std::size_t bytes)
      : board_(board),
        parties_(ranks / mine),
        bytes_(bytes),
        ranks_(static_cast<std::size_t>(mine)) {
    check(cudaSetDevice(0));
    check(ncclGroupStart());
    for (int index = 0; index < mine; ++index) {
      check(ncclCommInitRank(&ranks_[static_cast<std::size_t>(index)].comm, ranks, board.id,
                             first + index));
    }
    check(ncclGroupEnd());
    const std::vector<float> ones(bytes / sizeof(float) + 1, 1.0F);
    for (Rank& rank : ranks_) {
      check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
      check(cudaMalloc(reinterpret_cast<void**>(&rank.send), bytes));
      check(cudaMalloc(reinterpret_cast<void**>(&rank.receive), bytes));
      check(cudaMemcpy(rank.send, ones.data(), bytes, cudaMemcpyHostToDevice));
    }
  }

  void barrier() {
    volatile int& here = board_.barriers[barriers_++];
    __sync_fetch_and_add(&here, 1);
    while (here < parties_) usleep(20);
  }

  void start() {
    if (ranks_.size() > 1) check(ncclGroupStart());
    for (Rank& rank : ranks_) {
      check(ncclAllReduce(rank.send, rank.receive, bytes_ / sizeof(float), ncclFloat32, ncclSum,
                          rank.comm, rank.stream));
    }
    if (ranks_.size() > 1) check(ncclGroupEnd());
  }
  void finish() {
    for (Rank& rank : ranks_) check(cudaStreamSynchronize(rank.stream));
  }

  double back_to_back(int iterations) {
    barrier();
    const double begin = now_us();
    for (int i = 0; i < iterations; ++i) start();
    finish();
    return (now_us() - begin) / iterations;
  }
  double each_synchronised(int iterations) {
    barrier();
    const double begin = now_us();
    for (int i = 0; i < iterations; ++i) {
      start();
      finish();
    }
    return (now_us() - begin) / iterations;
  }

  /// All ranks of the process go into one graph.
  double in_graph(int iterations) {
    const cudaStream_t first = ranks_.front().stream;
    cudaEvent_t event;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    check(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    check(cudaEventRecord(event, first));
    for (std::size_t index = 1; index < ranks_.size(); ++index) {
      check(cudaStreamWaitEvent(ranks_[index].stream, event, 0));
    }
    for (int i = 0; i < kInGraph; ++i) start();
    for (std::size_t index = 1; index < ranks_.size(); ++index) {
      check(cudaEventRecord(event, ranks_[index].stream));
      check(cudaStreamWaitEvent(first, event, 0));
    }
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamEndCapture(first, &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    check(cudaGraphLaunch(executable, first));
    check(cudaStreamSynchronize(first));
    barrier();
    const double begin = now_us();
    for (int i = 0; i < iterations; ++i) check(cudaGraphLaunch(executable, first));
    check(cudaStreamSynchronize(first));
    const double each = (now_us() - begin) / iterations / kInGraph;
    barrier();
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
    return each;
  }

  void verify(float expected) {
    std::vector<float> got(std::min<std::size_t>(bytes_ / sizeof(float), 1000));
    for (Rank& rank : ranks_) {
      check(
          cudaMemcpy(got.data(), rank.receive, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
      if (std::any_of(got.begin(), got.end(), [&](float value) { return value != expected; })) {
        std::printf("WRONG %g\n", static_cast<double>(got[0]));
      }
    }
  }
  void leave() {
    for (Rank& rank : ranks_) check(ncclCommDestroy(rank.comm));
  }

 private:
  Board& board_;
  int parties_;
  int barriers_ = 0;
  std::size_t bytes_;
  std::vector<Rank> ranks_;
};

template <typename Measure>
double median(Measure measure) {
  std::vector<double> all;
  for (int i = 0; i < kRepeats; ++i) all.push_back(measure());
  std::sort(all.begin(), all.end());
  return all[kRepeats / 2];
}

void run(Board& board, int process, int mine, int ranks, std::size_t bytes, int iterations) {
  Party party(board, process * mine, mine, ranks, bytes);
  for (int i = 0; i < 5; ++i) party.start();
  party.finish();
  party.verify(static_cast<float>(ranks));
  board.result[0][process] = median([&] { return party.back_to_back(iterations); });
  board.result[1][process] = median([&] { return party.each_synchronised(iterations / 4 + 1); });
  board.result[2][process] = std::getenv("NO_GRAPH") != nullptr ? 0 : median([&] {
    return party.in_graph(iterations / kInGraph + 1);
  });
  party.verify(static_cast<float>(ranks));
  party.barrier();
  party.leave();
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  const bool one = std::strcmp(words[1], "one") == 0;
  const int ranks = std::atoi(words[2]);
  const std::size_t bytes = std::strtoull(words[3], nullptr, 0);
  const int iterations = count > 4 ? std::atoi(words[4]) : 200;
  auto& board = *static_cast<Board*>(
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  // The id comes from a process that touches no GPU before the others are made.
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  const int processes = one ? 1 : ranks;
  for (int process = 0; process < processes; ++process) {
    if (fork() == 0) {
      if (process == 0) {
        check(ncclGetUniqueId(&board.id));
        for (int other = 1; other < processes; ++other) {
          if (write(pipes[1], "x", 1) != 1) std::_Exit(1);
        }
      } else {
        char go = 0;
        if (read(pipes[0], &go, 1) != 1) std::_Exit(1);
      }
      run(board, process, one ? ranks : 1, ranks, bytes, iterations);
      std::_Exit(0);
    }
  }
  int bad = 0;
  for (int process = 0; process < processes; ++process) {
    int status = 0;
    wait(&status);
    bad |= status;
  }
  const auto slowest = [&](int what) {
    return *std::max_element(board.result[what], board.result[what] + processes);
  };
  std::printf("%-6s N=%d %10zu B: %9.1f us, synchronised %9.1f, in a graph %9.2f%s\n", words[1],
              ranks, bytes, slowest(0), slowest(1), slowest(2), bad != 0 ? "  FAILED" : "");
  return bad != 0;
}

// A job that survives the death of its workers. A supervisor starts workers, which add up numbers
// for ever; it kills one at random, again and again, and starts another in its place. The workers
// that are left revoke the communicator, shrink it, grow it by the newcomer, and go on.
//
//     elastic [workers] [deaths]
//
// What a job scheduler would do lies in shared memory here: who has died, and the id by which the
// newcomer finds the others. Nothing in it names a library: it is NCCL and the CUDA runtime.
#define RIPIENO_NEWER_API
#include <cuda_runtime.h>
#include <nccl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

/// What supervisor and workers share. A generation lasts from one death to the next.
struct Blackboard {
  std::atomic<int> generation;     ///< Raised by the supervisor when a worker has died.
  std::atomic<int> dead;           ///< Whose death began the generation (a process id).
  std::atomic<int> id_generation;  ///< The generation that `id` is for.
  ncclUniqueId id;
  std::atomic<int> working;  ///< Workers that have computed in this generation.
  std::atomic<bool> stop;
};

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "process %d: %s: %s\n", getpid(), what, ncclGetLastError(nullptr));
  std::exit(1);
}

void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) {
    give_up(what);
  }
}

template <typename Condition>
void wait_until(Condition condition) {
  while (!condition()) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

class Worker {
 public:
  Worker(Blackboard& board, int workers) : board_(board), workers_(workers) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMallocManaged(reinterpret_cast<void**>(&numbers_), sizeof(int) * (2 + workers));
  }

  /// One of the first workers.
  void start(const ncclUniqueId& id, int rank) {
    check(ncclCommInitRank(&comm_, workers_, id, rank), "init");
    learn_processes();
  }

  /// The replacement of one that died.
  void join(int generation) {
    generation_ = generation;
    wait_until([&] { return board_.id_generation.load() == generation; });
    check(ncclCommGrow(nullptr, workers_, &board_.id, workers_ - 1, &comm_, nullptr), "join");
    learn_processes();
  }

  void work() {
    bool counted = false;
    for (bool stop = false; !stop;) {
      if (!add_up(stop)) {
        recover();
        counted = false;
      } else if (!counted) {
        board_.working.fetch_add(1);
        counted = true;
      }
    }
    check(ncclCommDestroy(comm_), "destroy");
    cudaFree(numbers_);
    cudaStreamDestroy(stream_);
  }

 private:
  /// Waits for the stream; whether everything on the communicator went well.
  bool finish(ncclResult_t result) {
    cudaStreamSynchronize(stream_);
    ncclResult_t later = ncclSuccess;
    if (result == ncclSuccess) {
      ncclCommGetAsyncError(comm_, &later);
    }
    return result == ncclSuccess && later == ncclSuccess;
  }

  /// Adds up a one of every worker, and whether any has been told to stop.
  bool add_up(bool& stop) {
    numbers_[0] = 1;
    numbers_[1] = board_.stop.load() ? 1 : 0;
    if (!finish(ncclAllReduce(numbers_, numbers_, 2, ncclInt, ncclSum, comm_, stream_))) {
      return false;
    }
    if (numbers_[0] != workers_) {
      std::fprintf(stderr, "process %d: the sum is %d\n", getpid(), numbers_[0]);
      std::exit(1);
    }
    stop = numbers_[1] > 0;
    return true;
  }

  /// Which process is which rank: so that a death can be told as a rank later.
  void learn_processes() {
    numbers_[0] = getpid();
    if (!finish(ncclAllGather(numbers_, numbers_ + 2, 1, ncclInt, comm_, stream_))) {
      give_up("learning the processes");
    }
    processes_.assign(numbers_ + 2, numbers_ + 2 + workers_);
  }

  void recover() {
    check(ncclCommRevoke(comm_, NCCL_REVOKE_DEFAULT), "revoke");
    wait_until([&] { return board_.generation.load() > generation_; });
    generation_ = board_.generation.load();
    int dead = static_cast<int>(
        std::find(processes_.begin(), processes_.end(), board_.dead.load()) - processes_.begin());

    ncclComm_t small = nullptr;
    check(ncclCommShrink(comm_, &dead, 1, &small, nullptr, NCCL_SHRINK_ABORT), "shrink");
    check(ncclCommDestroy(comm_), "destroy");

    int rank = 0;
    check(ncclCommUserRank(small, &rank), "rank");
    if (rank == 0) {
      check(ncclCommGetUniqueId(small, &board_.id), "id");
      board_.id_generation.store(generation_);
    }
    check(ncclCommGrow(small, workers_, rank == 0 ? &board_.id : nullptr, -1, &comm_, nullptr),
          "grow");
    check(ncclCommDestroy(small), "destroy");
    learn_processes();
  }

  Blackboard& board_;
  int workers_;
  int generation_ = 0;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  int* numbers_ = nullptr;
  std::vector<int> processes_;
};

template <typename Body>
pid_t start_process(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    std::exit(0);
  }
  return child;
}

/// Waits until all workers work; false when one has ended instead.
bool all_work(const Blackboard& board, const std::vector<pid_t>& team) {
  while (board.working.load() < static_cast<int>(team.size())) {
    if (waitpid(-1, nullptr, WNOHANG) > 0) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const int workers = count > 1 ? std::atoi(arguments[1]) : 4;
  const int deaths = count > 2 ? std::atoi(arguments[2]) : 10;
  auto& board = *static_cast<Blackboard*>(
      mmap(nullptr, sizeof(Blackboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> team;
  for (int rank = 0; rank < workers; ++rank) {
    team.push_back(start_process([&] {
      Worker worker(board, workers);
      ncclUniqueId id;
      if (rank == 0) {
        check(ncclGetUniqueId(&board.id), "id");
        board.id_generation.store(1);
      }
      wait_until([&] { return board.id_generation.load() == 1; });
      id = board.id;
      worker.start(id, rank);
      worker.work();
    }));
  }

  std::mt19937 random(std::random_device{}());
  for (int death = 1; death <= deaths; ++death) {
    if (!all_work(board, team)) {
      std::fprintf(stderr, "a worker has ended by itself\n");
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    pid_t& victim = team[random() % team.size()];
    kill(victim, SIGKILL);
    waitpid(victim, nullptr, 0);
    board.working.store(0);
    board.dead.store(victim);
    board.generation.store(death + 1);
    const pid_t former = victim;
    victim = start_process([&] {
      Worker worker(board, workers);
      worker.join(death + 1);
      worker.work();
    });
    std::printf("death %d: process %d, replaced by %d\n", death, former, victim);
  }
  if (!all_work(board, team)) {
    std::fprintf(stderr, "a worker has ended by itself\n");
    return 1;
  }
  board.stop.store(true);
  int failed = 0;
  for (const pid_t worker : team) {
    int status = 0;
    waitpid(worker, &status, 0);
    failed += status == 0 ? 0 : 1;
  }
  std::printf("%d workers survived %d deaths; %d failed\n", workers - failed, deaths, failed);
  return failed == 0 ? 0 : 1;
}

// How long communicators take to be made, and what an idle one costs: init of processes and of
// threads, split, and resident memory. Prints a table with the share of each part of the time,
// which the library tells in its log.
#include <cuda_runtime.h>
#include <nccl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// What the processes of a round share.
struct Board {
  ncclUniqueId id;
  std::atomic<int> ready;
  std::atomic<int> done;
  std::atomic<bool> go;
};

void check(ncclResult_t result) {
  if (result != ncclSuccess) {
    std::fprintf(stderr, "%s\n", ncclGetLastError(nullptr));
    std::exit(1);
  }
}

double milliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The longest of each part that ranks wrote into logs of `folder`.
struct Parts {
  double bootstrap = 0;
  double connect = 0;

  static Parts of(const fs::path& folder) {
    Parts parts;
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        const auto place = line.find("(bootstrap ");
        double bootstrap = 0;
        double connect = 0;
        if (place != std::string::npos &&
            std::sscanf(line.c_str() + place, "(bootstrap %lf, connect %lf)", &bootstrap,
                        &connect) == 2) {
          parts.bootstrap = std::max(parts.bootstrap, bootstrap);
          parts.connect = std::max(parts.connect, connect);
        }
      }
    }
    return parts;
  }
};

void print_row(const char* what, double time, const Parts& parts, double goal) {
  std::printf("%-34s %9.2f %11.2f %9.2f %9.0f\n", what, time, parts.bootstrap, parts.connect, goal);
}

/// Time from the moment all processes are up until the last has its communicator.
double init_of_processes(int ranks, Board& board) {
  new (&board) Board{};
  std::vector<pid_t> children;
  std::fflush(stdout);
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(fork());
    if (children.back() == 0) {
      cudaSetDevice(0);
      if (rank == 0) {
        check(ncclGetUniqueId(&board.id));
      }
      board.ready.fetch_add(1);
      while (!board.go.load()) {
        std::this_thread::yield();
      }
      ncclComm_t comm = nullptr;
      check(ncclCommInitRank(&comm, ranks, board.id, rank));
      board.done.fetch_add(1);
      check(ncclCommDestroy(comm));
      std::exit(0);
    }
  }
  while (board.ready.load() < ranks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto begin = Clock::now();
  board.go.store(true);
  while (board.done.load() < ranks) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const double time = milliseconds(begin);
  for (const pid_t child : children) {
    waitpid(child, nullptr, 0);
  }
  return time;
}

/// Runs `call(rank)` in a thread of each rank; the time until the last returns.
template <typename Call>
double in_threads(int ranks, Call call) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ready.fetch_add(1);
      go.wait(false);
      call(rank);
    });
  }
  while (ready.load() < ranks) {
    std::this_thread::yield();
  }
  const auto begin = Clock::now();
  go.store(true);
  go.notify_all();
  threads.clear();
  return milliseconds(begin);
}

/// Kilobytes of this process in memory; `shared`: those of memory files only.
long resident(bool shared) {
  std::ifstream file("/proc/self/status");
  long total = 0;
  long memory_files = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    long kilobytes = 0;
    words >> name >> kilobytes;
    total = name == "VmRSS:" ? kilobytes : total;
    memory_files = name == "RssShmem:" ? kilobytes : memory_files;
  }
  return shared ? memory_files : total - memory_files;
}

/// Communicators of 64 ranks in threads: made by an id, then split.
class Ranks {
 public:
  explicit Ranks(int ranks) : comms_(static_cast<std::size_t>(ranks)) {}

  double init() {
    ncclUniqueId id;
    check(ncclGetUniqueId(&id));
    const int ranks = static_cast<int>(comms_.size());
    return in_threads(ranks, [&](int rank) {
      check(ncclCommInitRank(&comms_[static_cast<std::size_t>(rank)], ranks, id, rank));
    });
  }
  double split_into(Ranks& children) {
    return in_threads(static_cast<int>(comms_.size()), [&](int rank) {
      const auto place = static_cast<std::size_t>(rank);
      check(ncclCommSplit(comms_[place], 0, 0, &children.comms_[place], nullptr));
    });
  }
  void destroy() {
    for (ncclComm_t comm : comms_) {
      check(ncclCommDestroy(comm));
    }
  }

 private:
  std::vector<ncclComm_t> comms_;
};

void measure_threads(int ranks, int rounds, const fs::path& logs) {
  std::vector<double> inits;
  std::vector<double> splits;
  for (int round = 0; round < rounds; ++round) {
    Ranks parents(ranks);
    Ranks children(ranks);
    inits.push_back(parents.init());
    splits.push_back(parents.split_into(children));
    children.destroy();
    parents.destroy();
  }
  print_row(("init of " + std::to_string(ranks) + " thread ranks, ms").c_str(), median(inits),
            Parts::of(logs), 150);
  print_row(("split of " + std::to_string(ranks) + " thread ranks, ms").c_str(), median(splits), {},
            50);
}

/// By many communicators that are kept, so that what is freed and used again does not count.
void measure_memory(int ranks) {
  constexpr int kKept = 20;
  Ranks parents(ranks);
  parents.init();
  const long before = resident(false);
  const long control_before = resident(true);
  std::vector<Ranks> kept(kKept, Ranks(ranks));
  for (Ranks& children : kept) {
    parents.split_into(children);
  }
  const auto each = static_cast<double>(ranks) * kKept;
  std::printf("%-34s %9.1f %31.0f\n", "an idle communicator, KiB a rank",
              static_cast<double>(resident(false) - before) / each, 64.0);
  std::printf("%-34s %9.1f\n", "  and its control page, KiB a rank",
              static_cast<double>(resident(true) - control_before) / each);
  for (Ranks& children : kept) {
    children.destroy();
  }
  parents.destroy();
}

}  // namespace

int main() {
  constexpr int kRounds = 9;
  const fs::path logs = fs::temp_directory_path() / ("ripieno-life-" + std::to_string(getpid()));
  fs::create_directory(logs);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", "INIT", 1);
  setenv("NCCL_DEBUG_FILE", (logs / "%p").c_str(), 1);
  std::printf("%-34s %9s %11s %9s %9s\n", "", "median", "bootstrap", "connect", "goal");
  auto& board = *static_cast<Board*>(
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    times.push_back(init_of_processes(8, board));
  }
  print_row("init of 8 process ranks, ms", median(times), Parts::of(logs), 30);
  for (const auto& entry : fs::directory_iterator(logs)) {
    fs::remove(entry.path());
  }
  measure_threads(64, kRounds, logs);
  measure_memory(64);
  fs::remove_all(logs);
  return 0;
}

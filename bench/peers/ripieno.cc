// The driver for this library: processes, device memory of the host backend, and an operation that
// counts as done when its stream is. The barrier and the maximum are all-reduces too, as they are
// for the other libraries.
#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "measure.h"
#include "ranks.h"

namespace {

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, ncclGetErrorString(result), ncclGetLastError(nullptr));
  std::_Exit(1);
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::_Exit(1);
}

struct Session {
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  float* input = nullptr;
  float* output = nullptr;
  double* value = nullptr;
};

Session& session_of(void* state) {
  return *static_cast<Session*>(state);
}

void write_input(void* state, size_t first, const float* values, size_t count) {
  check(cudaMemcpy(session_of(state).input + first, values, count * sizeof(float),
                   cudaMemcpyHostToDevice),
        "write the input");
}

void read_output(void* state, size_t first, float* values, size_t count) {
  check(cudaMemcpy(values, session_of(state).output + first, count * sizeof(float),
                   cudaMemcpyDeviceToHost),
        "read the output");
}

void all_reduce(void* state, size_t count) {
  const Session& session = session_of(state);
  check(ncclAllReduce(session.input, session.output, count, ncclFloat, ncclSum,
                      session.communicator, session.stream),
        "ncclAllReduce");
  check(cudaStreamSynchronize(session.stream), "cudaStreamSynchronize");
}

double maximum(void* state, double value) {
  const Session& session = session_of(state);
  check(cudaMemcpy(session.value, &value, sizeof value, cudaMemcpyHostToDevice), "cudaMemcpy");
  check(ncclAllReduce(session.value, session.value, 1, ncclDouble, ncclMax, session.communicator,
                      session.stream),
        "ncclAllReduce");
  check(cudaStreamSynchronize(session.stream), "cudaStreamSynchronize");
  check(cudaMemcpy(&value, session.value, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return value;
}

// Rank 0 makes the id and writes a copy for each of the others; a whole id is read and written at
// once.
ncclUniqueId exchange_id(int rank, int ranks, const int* id_pipe) {
  ncclUniqueId id;
  if (rank != 0) {
    if (read(id_pipe[0], &id, sizeof id) != sizeof id) std::_Exit(1);
    return id;
  }
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  for (int other = 1; other < ranks; other++) {
    if (write(id_pipe[1], &id, sizeof id) != sizeof id) std::_Exit(1);
  }
  return id;
}

int run(int rank, int ranks, const ncclUniqueId& id, const char* schedule_path) {
  const Schedule schedule = read_schedule(schedule_path);
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  check(cudaSetDevice(rank % devices), "cudaSetDevice");
  Session session;
  check(cudaStreamCreate(&session.stream), "cudaStreamCreate");
  check(cudaMalloc(reinterpret_cast<void**>(&session.input), schedule.largest_bytes), "cudaMalloc");
  check(cudaMalloc(reinterpret_cast<void**>(&session.output), schedule.largest_bytes),
        "cudaMalloc");
  check(cudaMalloc(reinterpret_cast<void**>(&session.value), sizeof(double)), "cudaMalloc");
  check(ncclCommInitRank(&session.communicator, ranks, id, rank), "ncclCommInitRank");

  const Peer peer = {.rank = rank,
                     .ranks = ranks,
                     .state = &session,
                     .prepare = nullptr,
                     .write_input = write_input,
                     .read_output = read_output,
                     .all_reduce = all_reduce,
                     .maximum = maximum};
  const int status = measure(&peer, &schedule);
  check(ncclCommDestroy(session.communicator), "ncclCommDestroy");
  check(cudaFree(session.input), "cudaFree");
  check(cudaFree(session.output), "cudaFree");
  check(cudaFree(session.value), "cudaFree");
  check(cudaStreamDestroy(session.stream), "cudaStreamDestroy");
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s RANKS PINNED SCHEDULE\n", argv[0]);
    return 2;
  }
  int id_pipe[2];
  if (pipe(id_pipe) != 0) return 1;
  const int ranks = std::atoi(argv[1]);
  const int rank = fork_ranks(ranks, std::atoi(argv[2]));
  return run(rank, ranks, exchange_id(rank, ranks, id_pipe), argv[3]);
}

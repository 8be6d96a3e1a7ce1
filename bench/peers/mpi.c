/* The driver for MPI libraries: built once with each library's compiler wrapper, started by its
 * launcher. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

struct Buffers {
  float* input;
  float* output;
};

static void write_input(void* state, size_t first, const float* values, size_t count) {
  memcpy(((struct Buffers*)state)->input + first, values, count * sizeof(float));
}

static void read_output(void* state, size_t first, float* values, size_t count) {
  memcpy(values, ((struct Buffers*)state)->output + first, count * sizeof(float));
}

static void all_reduce(void* state, size_t count) {
  const struct Buffers* buffers = state;
  MPI_Allreduce(buffers->input, buffers->output, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static double maximum(void* state, double value) {
  (void)state;
  double largest;
  MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2) {
    fprintf(stderr, "usage: %s SCHEDULE\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const struct Schedule schedule = read_schedule(argv[1]);
  struct Buffers buffers = {.input = aligned_alloc(4096, schedule.largest_bytes + 4096),
                            .output = aligned_alloc(4096, schedule.largest_bytes + 4096)};
  struct Peer peer = {.state = &buffers,
                      .write_input = write_input,
                      .read_output = read_output,
                      .all_reduce = all_reduce,
                      .maximum = maximum};
  MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &peer.ranks);
  const int status = measure(&peer, &schedule);
  MPI_Finalize();
  free(buffers.input);
  free(buffers.output);
  return status;
}

/* How every library is measured, written once: the drivers bring an all-reduce and a maximum over
 * ranks, and this file brings the schedule, the warm-up, the batches and the check of results. So a
 * difference between two columns of the table is a difference between two libraries. */
#ifndef RIPIENO_BENCH_PEERS_MEASURE_H_
#define RIPIENO_BENCH_PEERS_MEASURE_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kMostSizes = 64 };

/** One line of a schedule file: "bytes iterations budget_ms". */
struct ScheduleLine {
  size_t bytes;
  int iterations;   /**< Most operations in a batch. */
  double budget_us; /**< All batches of this size together should take no longer. */
};

struct Schedule {
  struct ScheduleLine lines[kMostSizes];
  int length;
  size_t largest_bytes;
};

/** A library under measurement, as one rank sees it. Every function gets `state` first. */
struct Peer {
  int rank;
  int ranks;
  void* state;
  /** Called before a new size; may be null. */
  void (*prepare)(void* state, size_t count);
  void (*write_input)(void* state, size_t first, const float* values, size_t count);
  void (*read_output)(void* state, size_t first, float* values, size_t count);
  /** Sums `count` floats of all ranks out of place, and returns when the result is there. */
  void (*all_reduce)(void* state, size_t count);
  /** The largest `value` of all ranks, the same on each; so it is a barrier too. */
  double (*maximum)(void* state, double value);
};

/** Reads a schedule file; ends the process with a sentence when it cannot. */
struct Schedule read_schedule(const char* path);

/**
 * Measures every size of the schedule. Rank 0 prints "bytes median_us minimum_us iterations" a
 * line. Returns 0, or 1 on every rank when any rank saw a wrong sum.
 */
int measure(const struct Peer* peer, const struct Schedule* schedule);

#ifdef __cplusplus
}
#endif

#endif  // RIPIENO_BENCH_PEERS_MEASURE_H_

/* The method: warm up for a fifth of the work, then 7 batches with a barrier before each. A batch
 * counts as the mean of its operations on the slowest rank; the result is the median of the
 * batches. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBatches = 7, kFewBatches = 3, kPatternLength = 65521 };

/* Sums of small whole numbers are exact in any order. The length is a prime, so that no block of a
 * power of two looks like its neighbour; the salt changes with the size, so that what an earlier
 * size left behind is wrong. */
static float pattern_value(size_t index, int rank, int salt) {
  return (float)((index * 7 + (size_t)rank * 11 + (size_t)salt * 3) % 31);
}

struct Schedule read_schedule(const char* path) {
  struct Schedule schedule = {.length = 0, .largest_bytes = 0};
  FILE* file = fopen(path, "re");
  if (file == NULL) {
    fprintf(stderr, "cannot open the schedule %s\n", path);
    exit(2);
  }
  struct ScheduleLine line;
  double budget_ms;
  while (schedule.length < kMostSizes &&
         fscanf(file, "%zu %d %lf", &line.bytes, &line.iterations, &budget_ms) == 3) {
    line.budget_us = budget_ms * 1e3;
    if (line.bytes > schedule.largest_bytes) schedule.largest_bytes = line.bytes;
    schedule.lines[schedule.length++] = line;
  }
  fclose(file);
  return schedule;
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static double batch_mean_us(const struct Peer* peer, size_t count, int iterations) {
  peer->maximum(peer->state, 0.0);
  const double begin = now_us();
  for (int iteration = 0; iteration < iterations; iteration++) peer->all_reduce(peer->state, count);
  return peer->maximum(peer->state, (now_us() - begin) / iterations);
}

/* Ends after a fifth of the iterations or of the budget. All ranks decide from the same maximum,
 * hence alike. */
static double warm_up(const struct Peer* peer, size_t count, const struct ScheduleLine* line) {
  double mean_us = 0.0;
  double spent_us = 0.0;
  int done = 0;
  for (int step = 1; done * 5 < line->iterations && spent_us * 5 < line->budget_us; step *= 2) {
    mean_us = batch_mean_us(peer, count, step);
    spent_us += mean_us * step;
    done += step;
  }
  return mean_us;
}

static void fill_input(const struct Peer* peer, size_t count, int salt, float* pattern) {
  for (size_t index = 0; index < kPatternLength; index++)
    pattern[index] = pattern_value(index, peer->rank, salt);
  for (size_t first = 0; first < count; first += kPatternLength) {
    const size_t left = count - first;
    peer->write_input(peer->state, first, pattern, left < kPatternLength ? left : kPatternLength);
  }
}

static int output_is_wrong(const struct Peer* peer, size_t count, int salt, float* expected,
                           float* output) {
  for (size_t index = 0; index < kPatternLength; index++) {
    expected[index] = 0.0F;
    for (int rank = 0; rank < peer->ranks; rank++)
      expected[index] += pattern_value(index, rank, salt);
  }
  for (size_t first = 0; first < count; first += kPatternLength) {
    const size_t left = count - first;
    const size_t length = left < kPatternLength ? left : kPatternLength;
    peer->read_output(peer->state, first, output, length);
    if (memcmp(output, expected, length * sizeof(float)) != 0) {
      fprintf(stderr, "rank %d: wrong sum of %zu floats in the block at %zu\n", peer->rank, count,
              first);
      return 1;
    }
  }
  return 0;
}

static int compare_doubles(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

static int measure_size(const struct Peer* peer, const struct ScheduleLine* line, int salt) {
  static float pattern[kPatternLength];
  static float output[kPatternLength];
  const size_t count = line->bytes / sizeof(float);
  if (peer->prepare != NULL) peer->prepare(peer->state, count);
  fill_input(peer, count, salt, pattern);

  const double mean_us = warm_up(peer, count, line);
  const double fitting = line->budget_us / (kBatches * mean_us);
  const int batches = fitting < 1.0 ? kFewBatches : kBatches;
  int iterations = fitting < line->iterations ? (int)fitting : line->iterations;
  if (iterations < 1) iterations = 1;

  double means[kBatches];
  for (int batch = 0; batch < batches; batch++)
    means[batch] = batch_mean_us(peer, count, iterations);
  qsort(means, (size_t)batches, sizeof means[0], compare_doubles);
  const int wrong = output_is_wrong(peer, count, salt, pattern, output);
  if (peer->maximum(peer->state, wrong) > 0.0) return 1;
  if (peer->rank == 0)
    printf("%zu %.4f %.4f %d\n", line->bytes, means[batches / 2], means[0], iterations);
  return 0;
}

int measure(const struct Peer* peer, const struct Schedule* schedule) {
  for (int index = 0; index < schedule->length; index++) {
    if (measure_size(peer, &schedule->lines[index], index) != 0) return 1;
  }
  return 0;
}

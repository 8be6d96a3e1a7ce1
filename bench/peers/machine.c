/* What the machine can do right now: how long a flag takes from one core to another, and how fast
 * all cores together stream memory. Virtual machines change both within minutes, so it runs before
 * every round. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

enum { kMostCores = 256, kTrips = 20000, kRepeats = 5, kPasses = 3 };
static const size_t kStreamBytes = (size_t)128 << 20;

static int cores[kMostCores];
static int core_count;

static void list_cores(void) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE && core_count < kMostCores; core++) {
    if (CPU_ISSET(core, &allowed)) cores[core_count++] = core;
  }
}

static void pin_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

/* ---- flag ---- */

/* Each side writes its own word and waits for the other's; the words are on different pairs of
 * cache lines. */
static struct {
  _Alignas(128) _Atomic uint32_t ping;
  _Alignas(128) _Atomic uint32_t pong;
} flags;

static void await(_Atomic uint32_t* flag, uint32_t value) {
  while (atomic_load_explicit(flag, memory_order_acquire) != value) {
  }
}

static void* answer_flags(void* unused) {
  (void)unused;
  pin_to(cores[1]);
  for (uint32_t trip = 1; trip <= kTrips * kRepeats; trip++) {
    await(&flags.ping, trip);
    atomic_store_explicit(&flags.pong, trip, memory_order_release);
  }
  return NULL;
}

static double one_way_ns(void) {
  pthread_t partner;
  pthread_create(&partner, NULL, answer_flags, NULL);
  pin_to(cores[0]);
  double times[kRepeats];
  uint32_t trip = 0;
  for (int repeat = 0; repeat < kRepeats; repeat++) {
    const double begin = now_s();
    for (int count = 0; count < kTrips; count++) {
      atomic_store_explicit(&flags.ping, ++trip, memory_order_release);
      await(&flags.pong, trip);
    }
    times[repeat] = (now_s() - begin) * 1e9 / kTrips / 2;
  }
  pthread_join(partner, NULL);
  qsort(times, kRepeats, sizeof times[0], compare_doubles);
  return times[kRepeats / 2];
}

/* ---- stream ---- */

static pthread_barrier_t together;

/* Stores that pass the cache by: a cached store would first read the line it overwrites. */
static void stream_copy(void* destination, const void* source, size_t bytes) {
#ifdef __x86_64__
  __m128i* to = destination;
  const __m128i* from = source;
  for (size_t index = 0; index < bytes / sizeof *to; index += 4) {
    const __m128i a = _mm_load_si128(from + index);
    const __m128i b = _mm_load_si128(from + index + 1);
    const __m128i c = _mm_load_si128(from + index + 2);
    const __m128i d = _mm_load_si128(from + index + 3);
    _mm_stream_si128(to + index, a);
    _mm_stream_si128(to + index + 1, b);
    _mm_stream_si128(to + index + 2, c);
    _mm_stream_si128(to + index + 3, d);
  }
  _mm_sfence();
#else
  memcpy(destination, source, bytes);
#endif
}

struct StreamPass {
  double begin_s;
  double end_s;
};

struct StreamWorker {
  int core;
  struct StreamPass passes[kPasses];
};

static void* stream_on_core(void* argument) {
  struct StreamWorker* worker = argument;
  pin_to(worker->core);
  char* source = aligned_alloc(4096, kStreamBytes);
  char* destination = aligned_alloc(4096, kStreamBytes);
  memset(source, 1, kStreamBytes);
  memset(destination, 2, kStreamBytes);
  for (int pass = 0; pass < kPasses; pass++) {
    pthread_barrier_wait(&together);
    worker->passes[pass].begin_s = now_s();
    stream_copy(destination, source, kStreamBytes);
    worker->passes[pass].end_s = now_s();
  }
  free(source);
  free(destination);
  return NULL;
}

/* Bytes read plus bytes written a second, best pass; a pass lasts from the first start to the last
 * end. */
static double stream_bandwidth(void) {
  static struct StreamWorker workers[kMostCores];
  pthread_t threads[kMostCores];
  pthread_barrier_init(&together, NULL, (unsigned)core_count);
  for (int index = 0; index < core_count; index++) {
    workers[index].core = cores[index];
    pthread_create(&threads[index], NULL, stream_on_core, &workers[index]);
  }
  for (int index = 0; index < core_count; index++) pthread_join(threads[index], NULL);
  double shortest_s = 1e9;
  for (int pass = 0; pass < kPasses; pass++) {
    struct StreamPass whole = workers[0].passes[pass];
    for (int index = 1; index < core_count; index++) {
      const struct StreamPass* one = &workers[index].passes[pass];
      if (one->begin_s < whole.begin_s) whole.begin_s = one->begin_s;
      if (one->end_s > whole.end_s) whole.end_s = one->end_s;
    }
    if (whole.end_s - whole.begin_s < shortest_s) shortest_s = whole.end_s - whole.begin_s;
  }
  return 2.0 * (double)kStreamBytes * core_count / shortest_s;
}

int main(void) {
  list_cores();
  printf("flag_ns %.1f\n", core_count < 2 ? 0.0 : one_way_ns());
  printf("stream_bytes_per_second %.4g\n", stream_bandwidth());
  return 0;
}

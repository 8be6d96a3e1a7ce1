/* Forks, pins, waits. A child also dies with its parent, so that an interrupted benchmark leaves
 * nothing behind. */
#define _GNU_SOURCE
#include "ranks.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMostRanks = 256 };

static void pin_to_processor(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (!CPU_ISSET(processor, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

static void wait_and_exit(const pid_t* children, int ranks) {
  int failed = 0;
  for (int ended = 0; ended < ranks; ended++) {
    int status = 0;
    wait(&status);
    if (status == 0 || failed) continue;
    failed = 1;
    for (int rank = 0; rank < ranks; rank++) kill(children[rank], SIGKILL);
  }
  exit(failed);
}

int fork_ranks(int ranks, int pinned) {
  static pid_t children[kMostRanks];
  if (ranks < 1 || ranks > kMostRanks) {
    fprintf(stderr, "cannot run %d ranks\n", ranks);
    exit(2);
  }
  for (int rank = 0; rank < ranks; rank++) {
    children[rank] = fork();
    if (children[rank] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (pinned) pin_to_processor(rank);
      return rank;
    }
  }
  wait_and_exit(children, ranks);
  return -1;
}

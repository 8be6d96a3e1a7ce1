/* Ranks as forked processes of one driver, for the libraries that bring no launcher. */
#ifndef RIPIENO_BENCH_PEERS_RANKS_H_
#define RIPIENO_BENCH_PEERS_RANKS_H_

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Forks `ranks` children and returns in each of them with its rank; with `pinned`, rank r runs on
 * the r-th processor that this process may use. The parent never returns: it exits with 0 when all
 * children did, and when one fails it ends the others and exits with 1.
 */
int fork_ranks(int ranks, int pinned);

#ifdef __cplusplus
}
#endif

#endif  // RIPIENO_BENCH_PEERS_RANKS_H_

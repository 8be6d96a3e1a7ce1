#!/usr/bin/env bash
# Runs all benchmarks of a build folder: the micro benchmarks (Google Benchmark), the life of communicators, then tables of `ripieno perf` with one
# process a processor and with twice as many.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build="${1:?usage: scripts/bench.sh BUILD_FOLDER}"

for program in "$build"/bin/*_bench; do
  [[ -x $program ]] || continue
  echo "==== $(basename "$program") ===="
  "$program" --benchmark_min_time=0.1
done

echo "==== life of communicators ===="
"$build/bin/life_times"

processors="$(nproc)"
for ranks in $((processors > 1 ? processors : 2)) $((processors > 1 ? 2 * processors : 4)); do
  for collective in all_reduce all_gather reduce_scatter broadcast alltoall sendrecv; do
    echo "==== ripieno perf $collective, $ranks processes ===="
    "$build/bin/ripieno" perf "$collective" --procs "$ranks" -b 8 -e 64M -f 8
  done
done

#!/usr/bin/env bash
# Builds the fuzzers with clang into build/fuzz and runs each for SECONDS_EACH (60), starting from the kept corpora. What
# they find new lies in build/fuzz/corpus; `--keep` merges what adds coverage into tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds="${SECONDS_EACH:-60}"
keep=no
[[ ${1:-} == --keep ]] && keep=yes

clang="$(command -v clang++-16 || command -v clang++ || true)"
if [[ -z $clang ]]; then
  echo "make fuzz needs clang with libFuzzer (Debian: clang-16 and libclang-rt-16-dev)" >&2
  exit 1
fi
cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER="$clang" \
  -DCMAKE_C_COMPILER="${clang/++/}" -DRIPIENO_FUZZ=ON -DRIPIENO_CUDA=OFF -DRIPIENO_BENCH=OFF >build-fuzz.log ||
  { cat build-fuzz.log; exit 1; }
rm build-fuzz.log
names=(conversation settings config board topology graphs tuning)
cmake --build build/fuzz --target "${names[@]/#/fuzz_}"

for name in "${names[@]}"; do
  echo "==== $name, $seconds s ===="
  found="build/fuzz/corpus/$name"
  mkdir -p "$found" build/fuzz/findings
  "build/fuzz/bin/fuzz_$name" -max_total_time="$seconds" -print_final_stats=0 -verbosity=0 -timeout=10 \
    -artifact_prefix=build/fuzz/findings/ "$found" "tests/fuzz/corpus/$name"
  if [[ $keep == yes ]]; then
    "build/fuzz/bin/fuzz_$name" -merge=1 -verbosity=0 "tests/fuzz/corpus/$name" "$found"
  fi
done
echo "Nothing was found."

#!/usr/bin/env bash
# Runs the examples with 2, 4 and 8 ranks on the GPUs of this machine.   run.sh /path/to/libnccl.so.2 [ranks...]
set -uo pipefail
library=$(realpath "${1:?usage: run.sh /path/to/libnccl.so.2 [ranks...]}")
shift
here=$(dirname "$(realpath "$0")")
failed=0
for ranks in "${@:-2 4 8}"; do
  for ranks in $ranks; do
    for program in collectives.py "train.py ddp" "train.py fsdp"; do
      echo "== $program, $ranks ranks"
      # shellcheck disable=SC2086
      LD_PRELOAD=$library timeout 120 torchrun --nproc_per_node "$ranks" --master_port $((29500 + ranks)) \
        "$here"/$program || { echo "FAILED: $program with $ranks ranks"; failed=1; }
    done
  done
done
exit $failed

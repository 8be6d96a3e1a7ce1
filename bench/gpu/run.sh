#!/usr/bin/env bash
# Measures our library, and NVIDIA's beside it, with several ranks on one GPU: one process, processes that take turns, and
# processes under MPS.   run.sh /folder/of/our/libnccl.so.2 [/folder/of/nvidia's/libnccl.so.2]
#
# NVIDIA's library lets several ranks use one GPU from 2.30 on only (NCCL_MULTI_RANK_GPU_ENABLE=1); before that it is
# measured with one rank. Multicast stays off: not every machine may use it. Needs g++ and the CUDA toolkit.
set -uo pipefail
ours=$(realpath "${1:?usage: run.sh OURS [THEIRS]}")
theirs=${2:-}
here=$(dirname "$(realpath "$0")")
cuda=${CUDA_HOME:-/usr/local/cuda}
bench=${BENCH:-$(mktemp -d)/all_reduce}
export NCCL_NVLS_ENABLE=0 NCCL_MULTI_RANK_GPU_ENABLE=1
if [[ ! -x $bench ]]; then
  g++ -std=c++20 -O2 -I"$here"/../../include -I"$cuda"/include "$here"/all_reduce.cc -o "$bench" \
    -L"$ours" -Wl,-rpath-link,"$ours" -lnccl "$cuda"/lib64/libcudart_static.a -ldl -lrt -lpthread || exit 1
fi

measure() { # library mode ranks
  local bytes iterations
  for bytes in 8 32768 1048576 16777216 268435456; do
    iterations=$((bytes > 1000000 ? 40 : 400))
    LD_LIBRARY_PATH=$1 timeout -k 2 60 "$bench" "$2" "$3" "$bytes" "$iterations" || echo "$2 N=$3 $bytes B failed"
  done
}

both() { # mode ranks
  echo "-- ours, $1, $2 ranks"
  measure "$ours" "$1" "$2"
  if [[ -n $theirs ]]; then
    echo "-- NVIDIA's, $1, $2 ranks"
    NCCL_MAX_CTAS=$((128 / $2)) measure "$theirs" "$1" "$2"
  fi
}

both one 1
for ranks in ${RANKS:-2 4 8}; do both one "$ranks"; done
echo "== processes that take turns"
for ranks in ${RANKS:-2 4 8}; do both procs "$ranks"; done
echo "== processes under MPS"
export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
CUDA_MPS_LOG_DIRECTORY=$(mktemp -d)
timeout 20 nvidia-cuda-mps-control -d || exit 1
trap 'echo quit | timeout 10 nvidia-cuda-mps-control' EXIT
for ranks in ${RANKS:-2 4 8}; do both procs "$ranks"; done

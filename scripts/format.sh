#!/usr/bin/env bash
# Lays out every tracked C, C++ and CUDA file as .clang-format says; with --check it only complains.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

action=(-i)
if [[ ${1:-} == --check ]]; then action=(--dry-run -Werror); fi
git ls-files -z -- '*.c' '*.cc' '*.h' '*.cu' '*.cuh' | xargs -0 -r clang-format-16 "${action[@]}"

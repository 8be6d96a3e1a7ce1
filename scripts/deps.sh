#!/usr/bin/env bash
# Installs the Debian packages that Ripieno is built and tested with; the same names serve Debian 12 and Ubuntu 24.04.
# Quiet and quick where all of them are there: apt is called only for what is missing, and only then is root needed.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/deps.sh [--lint] [--peers] [--list]
  (nothing)  what the build and the tests need
  --lint     also clang-tidy and clang-format
  --peers    also the libraries that `make bench-peers` compares with
  --list     print the packages asked for instead of installing them
TEXT
}

# One package a line: group, package, why. docs/dependencies.md has the minimum versions.
packages() {
  cat <<'TABLE'
build  g++                  the compiler, 12 or newer
build  make                 the front door: Makefile
build  cmake                the build, 3.25 or newer
build  ninja-build          runs the build
build  pkg-config           finds libsodium
build  ccache               compiles a file once, whichever checkout it is in
build  git                  lists the files that are linted and formatted
build  python3              compares headers and symbols in the tests; drives bench-peers
build  libhwy-dev           Highway: vector code chosen at run time
build  libsodium-dev        randomness and keyed hashes (its static archive is linked)
build  libpugixml-dev       XML of topologies
build  libfmt-dev           formatting
build  libspdlog-dev        log lines
build  libcli11-dev         command line of the tools
build  nlohmann-json3-dev   JSON of reports
build  libgtest-dev         GoogleTest
build  libbenchmark-dev     Google Benchmark
lint   clang-tidy-16        checks
lint   clang-format-16      layout; another version lays out differently
peers  openmpi-bin          Open MPI's launcher
peers  libopenmpi-dev       Open MPI
peers  mpich                MPICH's launcher
peers  libmpich-dev         MPICH
peers  libgloo-dev          Gloo
TABLE
}

groups=" build "
list_only=false
for argument in "$@"; do
  case "$argument" in
    --lint | --peers) groups+="${argument#--} " ;;
    --list) list_only=true ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

wanted=()
while read -r group package _; do
  if [[ $groups == *" $group "* ]]; then wanted+=("$package"); fi
done < <(packages)

if $list_only; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

missing=("${wanted[@]}")
if command -v dpkg-query >/dev/null; then
  # dpkg-query fails when it does not know a package; what it does know it still prints.
  installed=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "${wanted[@]}" 2>/dev/null || true)"
  missing=()
  for package in "${wanted[@]}"; do
    [[ $installed == *" installed:$package "* ]] || missing+=("$package")
  done
  (( ${#missing[@]} )) || exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "deps: there is no apt-get here; please install what your system calls: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if (( EUID != 0 )); then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "deps: missing ${missing[*]}, and only root can install them: sudo apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

echo "deps: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq </dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null

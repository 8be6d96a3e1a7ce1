# The front door. Each goal does all that it needs, from installing packages to running, and nothing twice;
# the work itself is CMake's (see CMakePresets.json).
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
ARGS ?=
RIPIENO := build/release/bin/ripieno
PRODUCTS := ripieno nccl ripieno_hostrt ripieno_host_cudart ripieno_command

# Paths count from the checkout, so that ccache knows a file again in another clone or build folder.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export UBSAN_OPTIONS ?= print_stacktrace=1
export TSAN_OPTIONS ?= second_deadlock_stack=1

.PHONY: help
help: ## What can be asked for
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'Settings: JOBS=$(JOBS)  PREFIX=$(PREFIX)  DESTDIR=  ARGS= (for perf and bench-peers)'

.PHONY: deps
deps: ## Install the packages that are missing
	@scripts/deps.sh

# ---- Configure and build ----

# CMake configures again by itself when its own files change, not when the presets do.
build/%/build.ninja: CMakePresets.json | deps
	@cmake --preset $* >build-$*.log || { cat build-$*.log; rm build-$*.log; exit 1; }
	@rm build-$*.log
	@touch $@

.PHONY: products
products: build/release/build.ninja
	@cmake --build build/release -j $(JOBS) --target $(PRODUCTS)

.PHONY: build-release build-asan build-tsan
build-release build-asan build-tsan: build-%: build/%/build.ninja
	@cmake --build build/$* -j $(JOBS)

.PHONY: build
build: build-release ## Build everything, optimised

# ---- Use ----

.PHONY: perf
perf: products ## Build, then time an all-reduce of 4 processes
	@$(RIPIENO) perf $(or $(ARGS),all_reduce --procs 4 -b 8 -e 64M -f 2)

.PHONY: install
install: products ## Install under PREFIX (DESTDIR is honoured)
	@cmake --install build/release --prefix $(PREFIX)

# ---- Test ----

.PHONY: test test-asan test-tsan
test: build-release ## Run the tests
	@ctest --preset release -j $(JOBS)
test-asan: build-asan ## Run the tests under the address, leak and undefined-behaviour sanitizers
	@ctest --preset asan -j $(JOBS)
test-tsan: build-tsan ## Run the tests under the thread sanitizer
	@ctest --preset tsan -j $(JOBS)

.PHONY: fuzz
fuzz: ## Run every fuzzer for a minute (SECONDS_EACH=60; needs clang)
	@scripts/fuzz.sh $(ARGS)

# ---- Measure ----

.PHONY: bench
bench: build-release ## Run the micro benchmarks and the tables of `ripieno perf`
	@scripts/bench.sh build/release

.PHONY: bench-peers
bench-peers: products ## Compare with Open MPI, MPICH and Gloo (ARGS=--quick for the short form)
	@scripts/deps.sh --peers || echo 'Peers that are missing will be left out.'
	@bench/peers/run.py $(ARGS)

# ---- Keep in shape ----

.PHONY: lint-deps
lint-deps:
	@scripts/deps.sh --lint

.PHONY: format
format: lint-deps ## Lay out all C and C++ files
	@scripts/format.sh

.PHONY: format-check
format-check: lint-deps
	@scripts/format.sh --check

.PHONY: lint
lint: format-check build-release ## Check layout, and the sources with clang-tidy
	@scripts/tidy.py --build build/release --jobs $(JOBS)

.PHONY: clean
clean: ## Remove all that was built
	@rm -rf build

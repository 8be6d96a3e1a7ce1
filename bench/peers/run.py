#!/usr/bin/env python3
"""Compares this library with Open MPI, MPICH and Gloo on this machine: float32 sums out of place, host memory.

The libraries take turns in rounds, because a virtual machine changes under a benchmark: numbers of different minutes
do not compare. What the machine can do is measured and printed before every round. A ratio is the median over rounds
of the ratio within a round.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
ROOT = SOURCES.parent.parent
C_FLAGS = ["-std=gnu11", "-O3", "-Wall", "-Wextra"]
CXX_FLAGS = ["-std=c++20", "-O3", "-Wall", "-Wextra"]

# Most operations of a batch, by size in bytes; a budget of time lowers it where a library is slow.
ITERATIONS = {8: 2000, 1 << 10: 2000, 64 << 10: 1000, 1 << 20: 200, 16 << 20: 20, 256 << 20: 3}
QUICK_SIZES = [8, 1 << 10, 64 << 10, 1 << 20, 16 << 20]
# Where fewer bytes than this move, they may stay in a cache, and the memory's bandwidth is no bound.
BOUND_FROM_BYTES = 256 << 20


class Missing(Exception):
    """A library that cannot be measured here; the message says why."""


@dataclass
class Library:
    """A column of the table: how to build its driver, and the command that runs `ranks` ranks of it."""

    name: str
    build: callable
    command: callable
    environment: dict = field(default_factory=dict)


def compile_driver(target, sources, compiler, flags, libraries=()):
    """Compiles one executable unless it is newer than everything it is made of."""
    if shutil.which(compiler) is None:
        raise Missing(f"{compiler} is not installed (scripts/deps.sh --peers)")
    newest = max(path.stat().st_mtime for path in [*sources, *SOURCES.glob("*.h")])
    if target.exists() and target.stat().st_mtime > newest:
        return
    command = [compiler, *flags, *map(str, sources), "-o", str(target), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Missing(f"its driver does not compile here:\n{done.stderr.strip()[-2000:]}")


def build_mpi(folder, flavour):
    compile_driver(folder / f"mpi.{flavour}", [SOURCES / "mpi.c", SOURCES / "measure.c"],
                   f"mpicc.{flavour}", C_FLAGS)


def build_forked(folder, source, flags, libraries):
    """A C++ driver that forks its own ranks; the C half is compiled as C."""
    objects = []
    for part in ("measure", "ranks"):
        objects.append(folder / f"{part}.o")
        compile_driver(objects[-1], [SOURCES / f"{part}.c"], "gcc", [*C_FLAGS, "-c"])
    compile_driver(folder / Path(source).stem, [SOURCES / source, *objects], "g++",
                   [*CXX_FLAGS, *flags], libraries)


def build_gloo(folder):
    if not any(Path(base, "gloo/allreduce.h").exists() for base in ("/usr/include", "/usr/local/include")):
        raise Missing("gloo/allreduce.h is not installed (scripts/deps.sh --peers)")
    build_forked(folder, "gloo.cc", [], ["-lgloo", "-pthread"])


def build_ours(folder, library_folder):
    if not (library_folder / "libripieno.so").exists():
        raise Missing(f"{library_folder} holds no libripieno.so: build it first")
    folders = [library_folder, *sorted({path.parent for path in library_folder.rglob("libcudart.so*")})]
    build_forked(
        folder, "ripieno.cc",
        [f"-I{ROOT}/include", f"-I{ROOT}/include/ripieno/host"],
        [option for path in folders for option in (f"-L{path}", f"-Wl,-rpath,{path}")]
        + ["-lripieno", "-lcudart"])


def libraries_here(folder, library_folder, pin):
    """Every library with the settings that serve it best on one host."""

    def pinned(ranks):
        return pin and ranks <= len(os.sched_getaffinity(0))

    def openmpi(*components):
        def command(ranks, schedule, _):
            placement = ["--bind-to", "core"] if pinned(ranks) else ["--oversubscribe", "--bind-to", "none"]
            return ["mpirun.openmpi", "-np", str(ranks), *placement, *components,
                    str(folder / "mpi.openmpi"), schedule]
        return command

    def mpich(ranks, schedule, _):
        placement = ["-bind-to", "core"] if pinned(ranks) else []
        return ["mpiexec.mpich", "-n", str(ranks), *placement, str(folder / "mpi.mpich"), schedule]

    def gloo(algorithm):
        # Never pinned: a rank and its network thread on one core wait for each other's time slices.
        def command(ranks, schedule, scratch):
            return [str(folder / "gloo"), str(ranks), "0", algorithm, scratch, schedule]
        return command

    def ours(ranks, schedule, _):
        return [str(folder / "ripieno"), str(ranks), str(int(pinned(ranks))), schedule]

    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    any_ucx = ["--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]
    return [
        Library("ripieno", lambda: build_ours(folder, library_folder), ours),
        Library("openmpi", lambda: build_mpi(folder, "openmpi"),
                openmpi("--mca", "pml", "ob1", "--mca", "btl", "self,vader"), as_root),
        Library("openmpi-ucx", lambda: build_mpi(folder, "openmpi"),
                openmpi("--mca", "pml", "ucx", *any_ucx), as_root),
        Library("mpich", lambda: build_mpi(folder, "mpich"), mpich),
        Library("gloo-hd", lambda: build_gloo(folder), gloo("halving-doubling")),
        Library("gloo-ring", lambda: build_gloo(folder), gloo("ring")),
    ]


def run_bounded(command, limit_s, environment=None):
    """Standard output of a command; it and all it started are ended at the limit. Raises Missing on failure."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True,
                               env={**os.environ, **(environment or {})})
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise Missing(f"did not end within {limit_s} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        raise Missing(f"exit code {process.returncode}: {errors.strip()[-1000:]}")
    return output


def measure_machine(folder):
    compile_driver(folder / "machine", [SOURCES / "machine.c"], "gcc", C_FLAGS, ["-pthread"])
    lines = run_bounded([str(folder / "machine")], 60).splitlines()
    return {name: float(value) for name, value in (line.split() for line in lines)}


def measure_library(library, ranks, schedule, limit_s):
    """Microseconds by size."""
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as scratch:
        output = run_bounded(library.command(ranks, schedule, scratch), limit_s, library.environment)
    rows = [line.split() for line in output.splitlines()]
    return {int(row[0]): float(row[1]) for row in rows if len(row) == 4 and row[0].isdigit()}


def run_rounds(libraries, ranks, options, folder, dropped):
    """A list of rounds; a library that fails is reported, remembered in `dropped` and asked no more."""
    schedule = folder / "schedule"
    schedule.write_text("".join(
        f"{size} {ITERATIONS.get(size, max(1, min(2000, (1 << 28) // size)))} {options.budget_ms}\n"
        for size in options.sizes))
    rounds = []
    for number in range(options.rounds):
        machine = measure_machine(folder)
        print(f"# {ranks} ranks, round {number + 1} of {options.rounds}: flag {machine['flag_ns']:.0f} ns one way, "
              f"memory {machine['stream_bytes_per_second'] / 1e9:.1f} GB/s", flush=True)
        times = {}
        turn = number % len(libraries)
        for library in libraries[turn:] + libraries[:turn]:
            if (library.name, ranks) in dropped:
                continue
            try:
                times[library.name] = measure_library(library, ranks, str(schedule), options.limit_s)
            except Missing as reason:
                dropped[(library.name, ranks)] = str(reason)
                print(f"# {library.name} with {ranks} ranks is left out: {reason}", flush=True)
        rounds.append({"machine": machine, "us": times})
    return rounds


def median_over_rounds(rounds, name, size):
    values = [one["us"][name][size] for one in rounds if size in one["us"].get(name, {})]
    return statistics.median(values) if values else None


def best_peer(rounds, names, size):
    """The fastest other library by its median, and how many times our time it takes (median of rounds)."""
    medians = {name: median_over_rounds(rounds, name, size) for name in names if name != "ripieno"}
    medians = {name: value for name, value in medians.items() if value is not None}
    if not medians:
        return None, None
    best = min(medians, key=medians.get)
    ratios = [one["us"][best][size] / one["us"]["ripieno"][size] for one in rounds
              if size in one["us"].get("ripieno", {}) and size in one["us"].get(best, {})]
    return best, statistics.median(ratios) if ratios else None


def summarise(rounds, ranks, names, sizes):
    rows = []
    bandwidth = statistics.median(one["machine"]["stream_bytes_per_second"] for one in rounds)
    for size in sizes:
        best, ratio = best_peer(rounds, names, size)
        moved = 2 * ranks * size
        rows.append({
            "bytes": size,
            "us": {name: median_over_rounds(rounds, name, size) for name in names},
            "best_peer": best,
            "ratio": ratio,
            "bound_us": moved / bandwidth * 1e6 if moved >= BOUND_FROM_BYTES else None,
        })
    return rows


def print_table(ranks, names, rows, rounds):
    def cell(value, digits=None):
        if value is None:
            return "-"
        if digits is None:
            digits = 2 if value < 100 else 0
        return f"{value:.{digits}f}"

    print(f"\n{ranks} ranks, float32 sum out of place, microseconds, median of {len(rounds)} rounds")
    widths = [max(11, len(name) + 2) for name in names]
    print(f"{'bytes':>10}" + "".join(f"{name:>{width}}" for name, width in zip(names, widths))
          + f"{'bound':>10}{'best peer / ours':>24}")
    for row in rows:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f} ({row['best_peer']})"
        print(f"{row['bytes']:>10}"
              + "".join(f"{cell(row['us'][name]):>{width}}" for name, width in zip(names, widths))
              + f"{cell(row['bound_us'], 0):>10}{ratio:>24}")
    print(flush=True)


def parse_size(text):
    units = {"K": 10, "M": 20, "G": 30}
    unit = units.get(text[-1].upper())
    size = int(text) if unit is None else int(text[:-1]) << unit
    if size < 4 or size % 4:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of floats")
    return size


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", help="rank counts (2 4 8)")
    parser.add_argument("--sizes", type=parse_size, nargs="+", help="bytes, with K, M or G (8 1K 64K 1M 16M 256M)")
    parser.add_argument("--libraries", nargs="+",
                        help="columns (all but gloo-ring): ripieno openmpi openmpi-ucx mpich gloo-hd gloo-ring")
    parser.add_argument("--rounds", type=int, help="rounds of each rank count (3)")
    parser.add_argument("--budget-ms", type=float, help="time for a size in one run of a library (400)")
    parser.add_argument("--limit-s", type=int, default=120, help="a run that takes longer is ended (120)")
    parser.add_argument("--quick", action="store_true", help="2 and 4 ranks, up to 16M, 2 rounds, under two minutes")
    parser.add_argument("--no-pin", action="store_true", help="let ranks wander even where each could have a core")
    parser.add_argument("--json", type=Path, help="write all rounds and the tables to this file")
    parser.add_argument("--library-folder", type=Path, default=ROOT / "build/release/lib",
                        help="where libripieno.so lies (build/release/lib)")
    options = parser.parse_args()
    quick = options.quick
    options.ranks = options.ranks or ([2, 4] if quick else [2, 4, 8])
    options.sizes = sorted(options.sizes or (QUICK_SIZES if quick else list(ITERATIONS)))
    options.rounds = options.rounds or (2 if quick else 3)
    options.budget_ms = options.budget_ms or (150 if quick else 400)
    return options


def usable_libraries(options, folder):
    usable = []
    known = libraries_here(folder, options.library_folder.resolve(), not options.no_pin)
    names = options.libraries or [library.name for library in known if library.name != "gloo-ring"]
    for unknown in set(names) - {library.name for library in known}:
        sys.exit(f"bench-peers: there is no library {unknown}")
    for library in known:
        if library.name not in names:
            continue
        try:
            library.build()
            usable.append(library)
        except Missing as reason:
            print(f"# {library.name} is left out: {reason}", flush=True)
    return usable


def main():
    options = parse_options()
    folder = ROOT / "build" / "bench-peers"
    folder.mkdir(parents=True, exist_ok=True)
    libraries = usable_libraries(options, folder)
    if not libraries:
        sys.exit("bench-peers: nothing to measure")
    names = [library.name for library in libraries]
    report = {"machine": {"processors": len(os.sched_getaffinity(0)), "kernel": platform.release()}, "ranks": {}}
    dropped = {}
    for ranks in options.ranks:
        rounds = run_rounds(libraries, ranks, options, folder, dropped)
        rows = summarise(rounds, ranks, names, options.sizes)
        print_table(ranks, names, rows, rounds)
        report["ranks"][ranks] = {"rounds": rounds, "table": rows}
    report["left_out"] = [{"library": name, "ranks": ranks, "reason": reason}
                          for (name, ranks), reason in dropped.items()]
    print("bound: 2 x ranks x bytes must cross the memory bus, at the bandwidth measured beside the rounds")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    if ("ripieno" in names) and any(name == "ripieno" for name, _ in dropped):
        sys.exit("bench-peers: our own runs failed, see above")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src/ and tools/ that a build compiles, several at a time.

A file that passed is not checked again until it, a header it includes, its flags or the rules change: what passed is
remembered as hashes in the user's cache folder, without the path of the checkout, so that another clone profits too.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-16"
CHECKED_FOLDERS = ("src/", "tools/")
MOST_REMEMBERED = 20000
ROOM_LINK = re.compile(r"build/[^/\s]+/rooms/\w+/")
DIAGNOSTIC = re.compile(r"^(?P<place>\S+:\d+:\d+): (?P<kind>warning|error): ")


def units_of(build):
    """(source, flags, object) of every checked translation unit."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"]).resolve()
        if not source.is_relative_to(ROOT):
            continue
        name = str(source.relative_to(ROOT))
        if name.startswith(CHECKED_FOLDERS) and source.suffix in (".cc", ".c"):
            yield name, entry["command"], entry.get("output") or object_of(entry)


def object_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def headers_by_object(build):
    """What ninja knows of the headers that went into each object, from the last build."""
    listing = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True)
    headers, current = {}, None
    for line in listing.stdout.splitlines():
        if line.startswith("    "):
            headers[current].append(line.strip())
        elif ": #deps" in line:
            current = line.split(": #deps")[0]
            headers[current] = []
    return headers


class Fingerprints:
    """Hashes of translation units: rules, flags, and the text of the source and of every header of this repository."""

    def __init__(self, build):
        self.build = build
        self.headers = headers_by_object(build)
        version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
        self.rules = version + (ROOT / ".clang-tidy").read_text()
        self.texts = {}

    def text_hash(self, path):
        if path not in self.texts:
            try:
                self.texts[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            except OSError:
                self.texts[path] = "missing"
        return self.texts[path]

    def of(self, name, command, target):
        """None where the unit was never built: its headers are unknown."""
        if target not in self.headers:
            return None
        total = hashlib.sha256(self.rules.encode())
        total.update(command.replace(str(ROOT), "").encode())
        total.update(self.text_hash(ROOT / name).encode())
        for header in sorted(self.headers[target]):
            path = os.path.realpath(self.build / header)
            if path.startswith(f"{ROOT}/"):
                total.update(path[len(str(ROOT)):].encode() + self.text_hash(path).encode())
        return total.hexdigest()


class Memory:
    """The fingerprints that passed, one a line, newest last; written at once, so an interrupted run loses nothing."""

    def __init__(self):
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.path = cache / "ripieno" / "tidy"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().split() if self.path.exists() else []
        if len(lines) > MOST_REMEMBERED:
            lines = lines[-MOST_REMEMBERED // 2:]
            fresh = self.path.with_suffix(f".{os.getpid()}")
            fresh.write_text("\n".join(lines) + "\n")
            fresh.replace(self.path)
        self.passed = set(lines)

    def add(self, fingerprint):
        with self.path.open("a") as file:
            file.write(fingerprint + "\n")


def check(name, build):
    """(passed, readable output) of clang-tidy on one source."""
    done = subprocess.run([TIDY, "--quiet", f"-p={build}", str(ROOT / name)], capture_output=True, text=True,
                          cwd=ROOT, stdin=subprocess.DEVNULL)
    output = ROOM_LINK.sub("src/", done.stdout.replace(f"{ROOT}/", ""))
    if done.returncode != 0 and not output.strip():
        output = done.stderr
    return done.returncode == 0, output


def print_new(output, seen):
    """Prints diagnostics that no earlier source showed: a header's would come once for every includer."""
    wanted = True
    for line in output.splitlines():
        found = DIAGNOSTIC.match(line)
        if found:
            wanted = line not in seen
            seen.add(line)
        if wanted:
            print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a build folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("sources", nargs="*", help="only these (paths from the root, or beginnings of them)")
    options = parser.parse_args()
    build = options.build.resolve()

    fingerprints, memory = Fingerprints(build), Memory()
    waiting, known = {}, 0
    for name, command, target in units_of(build):
        if options.sources and not name.startswith(tuple(options.sources)):
            continue
        fingerprint = fingerprints.of(name, command, target)
        if fingerprint in memory.passed:
            known += 1
        else:
            waiting[name] = fingerprint

    failed, seen = [], set()
    with ThreadPoolExecutor(options.jobs) as pool:
        checks = {pool.submit(check, name, build): name for name in waiting}
        for done in as_completed(checks):
            name, (passed, output) = checks[done], done.result()
            if not passed:
                failed.append(name)
                print_new(output, seen)
            elif waiting[name]:
                memory.add(waiting[name])
    print(f"tidy: {len(waiting)} sources checked, {known} unchanged since they passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

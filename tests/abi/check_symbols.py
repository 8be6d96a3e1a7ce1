"""Checks what a shared library shows and needs.

    check_symbols.py exports LIBRARY LIST...     exactly the listed names, ncclX weak and pncclX strong at one address
    check_symbols.py names LIBRARY LIST...       exactly the listed names
    check_symbols.py contains LIBRARY HEADER...  every CUDA runtime function that the headers declare
    check_symbols.py needs LIBRARY SONAME EXTRA...  the soname, and nothing needed but the C and C++ runtime and EXTRA"""

import re
import subprocess
import sys
from pathlib import Path

from declarations import read_declarations

RUNTIME = {
    "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libstdc++.so.6", "libgcc_s.so.1",
}  # fmt: skip


def exported(library: str) -> dict[str, tuple[str, int]]:
    """Name to (kind letter of nm, address)."""
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    symbols = {}
    for line in output.stdout.splitlines():
        address, kind, name = line.split()
        if kind != "A":
            symbols[name.split("@")[0]] = (kind, int(address, 16))
    return symbols


def listed(files: list[str]) -> set[str]:
    return {name for file in files for name in Path(file).read_text().split()}


def difference(found: set[str], wanted: set[str]) -> list[str]:
    return [f"missing: {name}" for name in sorted(wanted - found)] + [
        f"not in the list: {name}" for name in sorted(found - wanted)
    ]


def check_exports(library: str, lists: list[str]) -> list[str]:
    symbols = exported(library)
    problems = difference(set(symbols), listed(lists))
    for name, (kind, address) in symbols.items():
        if not name.startswith("p"):
            continue
        if kind != "T":
            problems.append(f"{name} is {kind}, not a strong function")
        twin = symbols.get(name[1:])
        if twin != ("W", address):
            problems.append(f"{name[1:]} is {twin}, not weak at the address of {name}")
    return problems


def check_names(library: str, lists: list[str]) -> list[str]:
    return difference(set(exported(library)), listed(lists))


def check_contains(library: str, headers: list[str]) -> list[str]:
    declared = read_declarations([Path(header) for header in headers], ("cuda",)).functions
    symbols = exported(library)
    return [f"declared but not defined: {name}" for name in declared if name not in symbols]


def check_needs(library: str, arguments: list[str]) -> list[str]:
    soname, *extra = arguments
    output = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output))
    sonames = re.findall(r"\(SONAME\).*\[(.*)\]", output)
    problems = [f"needs {name}" for name in sorted(needed - RUNTIME - set(extra))]
    if sonames != [soname]:
        problems.append(f"soname is {sonames}, not {soname}")
    return problems


def main() -> int:
    action, library, *rest = sys.argv[1:]
    checks = {"exports": check_exports, "names": check_names, "contains": check_contains, "needs": check_needs}
    problems = checks[action](library, rest)
    print("\n".join(problems) if problems else f"{library}: as it should be")
    return 1 if problems else 0


sys.exit(main())

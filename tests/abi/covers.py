"""Checks that our header declares every constant and function which another header declares.

    covers.py OUR_HEADER THEIR_HEADER"""

import sys
from pathlib import Path

from declarations import read_declarations


def names(header: str) -> set[str]:
    found = read_declarations([Path(header)], ("nccl", "pnccl"))
    return set(found.macros + found.initializers + found.enumerators + found.functions)


def main() -> int:
    ours, theirs = (names(header) for header in sys.argv[1:])
    missing = sorted(theirs - ours)
    print("\n".join(f"missing: {name}" for name in missing) or f"all of {len(theirs)} names are declared")
    return 1 if missing else 0


sys.exit(main())

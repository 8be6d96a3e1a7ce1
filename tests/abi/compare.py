"""Runs two table programs and shows where their outputs differ.

    compare.py OUR_PROGRAM THEIR_PROGRAM"""

import difflib
import subprocess
import sys


def lines_of(program: str) -> list[str]:
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def main() -> int:
    ours, theirs = (lines_of(program) for program in sys.argv[1:])
    changes = list(difflib.unified_diff(theirs, ours, "theirs", "ours", n=0, lineterm=""))
    print("\n".join(changes) if changes else f"{len(ours)} facts, all equal")
    return 1 if changes else 0


sys.exit(main())

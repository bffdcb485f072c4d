"""`python -m daelight` is the command `daelight`, where that program is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def main() -> int:
    """Runs the program with the same words."""
    program = os.environ.get("DAELIGHT_PROGRAM") or shutil.which("daelight")
    if program is None:
        print(
            "error: the program `daelight` is not on the path\n"
            "  help: `cargo install --path crates/cli` in the repository puts it there; "
            "the package `daelight` works without it",
            file=sys.stderr,
        )
        return 2
    return subprocess.run([program, *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())

"""`python -m daelight` is the command `daelight`: `python -m daelight solve pendulum`."""

from __future__ import annotations

import signal
import sys

from ._daelight import command


def main() -> int:
    """Carries out the command of the words behind the program's name."""
    # Ctrl-C ends a command at once; Python would wait for the end of the call.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["daelight", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

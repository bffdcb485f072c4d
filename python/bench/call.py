"""What a call costs over Rust's own work: `solve` on the pendulum, and the import.

    python python/bench/call.py
"""

from __future__ import annotations

import subprocess
import sys
import time

import daelight


def main() -> None:
    pendulum = daelight.example("pendulum")
    pendulum.solve()
    overheads, inner = [], []
    for _ in range(500):
        begin = time.perf_counter()
        run = pendulum.solve()
        overheads.append(time.perf_counter() - begin - run.elapsed)
        inner.append(run.elapsed)
    overheads.sort()
    print(f"integration {1e6 * min(inner):.0f} us, call overhead {1e6 * overheads[len(overheads) // 2]:.1f} us (median), {1e6 * overheads[0]:.1f} us (least)")
    code = "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import daelight; print(b - a, time.perf_counter() - b)"
    best = min(
        (subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() for _ in range(5)),
        key=lambda pair: float(pair[0]) + float(pair[1]),
    )
    print(f"import: numpy {float(best[0]):.3f} s, daelight {float(best[1]):.3f} s more")


if __name__ == "__main__":
    main()

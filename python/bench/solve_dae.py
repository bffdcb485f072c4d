"""`solve_dae` beside scipy_dae, at equal tolerances: errors and times of scipy_dae's example problems.

    pip install scipy_dae
    python python/bench/solve_dae.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from problems import PROBLEMS, Problem  # noqa: E402

import daelight  # noqa: E402

TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
REPEATS = 3


def measure(solve: Any, problem: Problem, method: str, tolerance: float) -> tuple[float, float, int]:
    """Error at the end, best processor time, evaluations; NaN when the run fails."""
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        run = solve(
            problem.fun, problem.span, problem.y0, problem.yp0, method=method, rtol=tolerance, atol=1e-4 * tolerance
        )
        best = min(best, time.process_time() - begin)
    error = problem.error(run.y[:, -1]) if run.success else float("nan")
    return error, best, run.nfev


def main() -> None:
    import scipy_dae.integrate

    head = f"{'problem':12} {'method':6} {'rtol':>6} | {'error':>9} {'ms':>8} {'nfev':>6} | {'scipy_dae':>9} {'ms':>8} {'nfev':>6} | faster"
    print(head)
    worse: list[str] = []
    for problem in PROBLEMS:
        for method in problem.methods:
            for tolerance in TOLERANCES:
                ours = measure(daelight.solve_dae, problem, method, tolerance)
                theirs = measure(scipy_dae.integrate.solve_dae, problem, method, tolerance)
                print(
                    f"{problem.name:12} {method:6} {tolerance:6.0e} | {ours[0]:9.1e} {1e3 * ours[1]:8.2f} {ours[2]:6} | "
                    f"{theirs[0]:9.1e} {1e3 * theirs[1]:8.2f} {theirs[2]:6} | {theirs[1] / ours[1]:5.1f}"
                )
                if ours[0] != ours[0] or ours[0] > theirs[0] or ours[1] > theirs[1]:
                    worse.append(f"{problem.name} {method} {tolerance:.0e}")
    print("all errors not larger and all runs faster" if not worse else f"larger error, or slower: {'; '.join(worse)}")


if __name__ == "__main__":
    main()

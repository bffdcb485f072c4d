"""heyoka in batch mode, eight runs at a time on one core, on ordinary differential equations by hand: 4000 pendulums of lengths 1 to 2, and 400
squeezers with moments of 0.033 to 0.036.

Prints one JSON document for each problem and tolerance: seconds of compiling, processor seconds of all runs (the least of five), and the unknown that our
sweeps measure at the end of the first and of the last run.
"""
import json
import time

import heyoka as hy
import numpy as np
import solve_problems as problems

LANES = 8


class Names:
    sin, cos, sqrt, diff = hy.sin, hy.cos, hy.sqrt, hy.diff


def variables(name, count):
    return [hy.expression(f"{name}{i}") for i in range(count)]


def pendulum():
    x, y, u, v = variables("s", 4)
    force = (u**2 + v**2 - 9.81 * y) / hy.par[0] ** 2
    system = [(x, u), (y, v), (u, -force * x), (v, -force * y - 9.81)]
    return system, np.linspace(1.0, 2.0, 4000), lambda length: [length, 0.0, 0.0, 0.0], 10.0


def andrews():
    q, v = variables("q", 7), variables("v", 7)
    matrix, right = problems.andrews_accelerations(Names, q, v, hy.par[0])
    system = list(zip(q, v)) + list(zip(v, problems.eliminate(matrix, right)[:7]))
    return system, np.linspace(0.033, 0.036, 400), lambda moment: problems.ANDREWS_START + [0.0] * 7, 0.03


hy.llvm_state.set_diskcache_enabled(False)
for name, make in (("pendulum", pendulum), ("andrews", andrews)):
    for tolerance in (1e-6, 1e-9):
        begin = time.perf_counter()
        system, points, start, end = make()
        first_state = np.repeat(np.array([start(points[0])]).T, LANES, axis=1)
        batch = hy.taylor_adaptive_batch(system, first_state, pars=np.full((1, LANES), points[0]), tol=tolerance)
        setup = time.perf_counter() - begin
        best, ends = float("inf"), np.zeros(len(points))
        for _ in range(5):
            begin = time.process_time()
            for first in range(0, len(points), LANES):
                part = points[first : first + LANES]
                batch.pars[0] = part
                batch.state[:] = np.array([start(point) for point in part]).T
                batch.set_time(0.0)
                batch.propagate_until(end)
                ends[first : first + LANES] = batch.state[0]
            best = min(best, time.process_time() - begin)
        answer = {"problem": name, "tool": "heyoka", "version": hy.__version__, "tolerance": tolerance, "runs": len(points)}
        print(json.dumps({**answer, "setup": setup, "solve": best, "values": ends[[0, -1]].tolist()}), flush=True)

"""heyoka in batch mode, eight runs at a time on one core: 4000 pendulums of lengths 1 to 2, as an ordinary differential equation by hand.

Prints one JSON document for each tolerance: seconds of compiling and of all runs, and x at the end for the first and the last length.
"""
import json
import time

import heyoka as hy
import numpy as np

LANES, RUNS, END = 8, 4000, 10.0

x, y, u, v = (hy.expression(f"s{i}") for i in range(4))
square = hy.par[0] ** 2
force = (u**2 + v**2 - 9.81 * y) / square
system = [(x, u), (y, v), (u, -force * x), (v, -force * y - 9.81)]
lengths = np.linspace(1.0, 2.0, RUNS)
hy.llvm_state.set_diskcache_enabled(False)
for tolerance in (1e-6, 1e-9):
    begin = time.perf_counter()
    start = np.zeros((4, LANES))
    start[0] = 1.0
    batch = hy.taylor_adaptive_batch(system, start, pars=np.ones((1, LANES)), tol=tolerance)
    setup = time.perf_counter() - begin
    best, ends = float("inf"), np.zeros(RUNS)
    for _ in range(5):
        begin = time.perf_counter()
        for first in range(0, RUNS, LANES):
            part = lengths[first : first + LANES]
            batch.pars[0] = part
            batch.state[:] = 0.0
            batch.state[0] = part
            batch.set_time(0.0)
            batch.propagate_until(END)
            ends[first : first + LANES] = batch.state[0]
        best = min(best, time.perf_counter() - begin)
    answer = {"problem": "pendulum", "tool": "heyoka", "version": hy.__version__, "tolerance": tolerance}
    print(json.dumps({**answer, "setup": setup, "solve": best, "values": ends[[0, -1]].tolist()}), flush=True)

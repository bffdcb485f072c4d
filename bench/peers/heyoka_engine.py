"""Compiles an ordinary differential equation in heyoka from a listing of our graph, and times steps.

usage: heyoka_engine.py LISTING POINT ORDER

Prints the compile time, the order, the shortest time of one step (Taylor coefficients, step size and
update of the state) and the Taylor coefficients of the first step.
"""
import math
import sys
import time

import heyoka as hy

from listing import build, read

lines, counts = read(sys.argv[1])
with open(sys.argv[2]) as file:
    numbers = iter(file.read().split())
parts = []
for _ in range(4):
    n = int(next(numbers))
    parts.append([float(next(numbers)) for _ in range(n)])
state, _, parameters, (start_time,) = parts
order = int(sys.argv[3])

names = [hy.expression(f"x{i}") for i in range(counts["x"])]
leaves = {
    "x": names,
    "p": [hy.par[i] for i in range(counts["p"])],
    "t": [hy.time],
}
roots = build(lines, leaves, hy, lambda c, a, b: hy.select(c, a, b))
roots = [root if isinstance(root, hy.expression) else hy.expression(root) for root in roots]
# Compile times are those of a first run.
hy.llvm_state.set_diskcache_enabled(False)
start = time.perf_counter()
# The order that heyoka derives from a tolerance is ceil(1 - log(tol)/2).
integrator = hy.taylor_adaptive(
    list(zip(names, roots)),
    state,
    time=start_time,
    pars=parameters,
    tol=math.exp(-2 * (order - 1.5)),
    compact_mode=len(names) > 60,
)
print("version", hy.__version__)
print("compile_seconds", time.perf_counter() - start)
print("order", integrator.order)
integrator.step(write_tc=True)
for row in integrator.tc:
    for coefficient in row:
        print("tc", repr(float(coefficient)))
steps = 20
best = math.inf
for repeat in range(200):
    integrator.state[:] = state
    integrator.time = start_time
    begin = time.perf_counter()
    integrator.propagate_for(1e6, max_steps=steps)
    best = min(best, (time.perf_counter() - begin) / steps)
print("time_step", best * 1e9)

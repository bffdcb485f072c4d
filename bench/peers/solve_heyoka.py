"""heyoka on hand-made ordinary differential equations: pendulum, Andrews' squeezer, Akzo Nobel.

Prints one JSON document for each problem and tolerance: seconds of compiling and of the run, and the values at the end.
"""
import json
import math
import time

import heyoka as hy

import solve_problems as problems


class Names:
    sin, cos, sqrt = hy.sin, hy.cos, hy.sqrt
    diff = staticmethod(hy.diff)


def variables(word, n):
    return [hy.expression(f"{word}{i}") for i in range(n)]


def pendulum():
    x, y, u, v = variables("s", 4)
    force = u**2 + v**2 - 9.81 * y
    return [(x, u), (y, v), (u, -force * x), (v, -force * y - 9.81)], [1.0, 0.0, 0.0, 0.0], 10.0, lambda s: s[:2]


def andrews():
    q, v = variables("q", 7), variables("v", 7)
    matrix, right = problems.andrews_accelerations(Names, q, v)
    w = problems.eliminate(matrix, right)[:7]
    return list(zip(q, v)) + list(zip(v, w)), problems.ANDREWS_START + [0.0] * 7, 0.03, lambda s: s[:7]


def akzo():
    y = variables("y", 5)
    rates = problems.akzo(Names, y, problems.AKZO_KS * y[0] * y[3])
    end = lambda s: list(s) + [problems.AKZO_KS * s[0] * s[3]]
    return list(zip(y, rates)), problems.AKZO_START, 180.0, end


hy.llvm_state.set_diskcache_enabled(False)
for name, make in (("pendulum", pendulum), ("andrews", andrews), ("akzo-nobel", akzo)):
    orders = set()
    for tolerance in problems.TOLERANCES:
        # The order follows from the tolerance; runs of one order are the same.
        order = math.ceil(1 - math.log(tolerance) / 2)
        if order in orders or (name == "andrews" and not 1e-10 <= tolerance < 1e-4):
            continue
        orders.add(order)
        answer = {"problem": name, "tool": "heyoka", "version": hy.__version__, "form": "ODE by hand", "tolerance": tolerance}
        try:
            begin = time.perf_counter()
            system, start, end, values = make()
            integrator = hy.taylor_adaptive(system, start, tol=tolerance)
            answer["setup"] = time.perf_counter() - begin
            best, spent = math.inf, 0.0
            for repeat in range(200):
                integrator.state[:] = start
                integrator.time = 0.0
                begin = time.perf_counter()
                outcome = integrator.propagate_until(end)[0]
                once = time.perf_counter() - begin
                best, spent = min(best, once), spent + once
                if spent > 0.3 and repeat > 5:
                    break
            answer["solve"] = best
            answer["success"] = outcome == hy.taylor_outcome.time_limit
            answer["message"] = str(outcome)
            answer["values"] = [float(value) for value in values(integrator.state)]
        except Exception as error:
            answer["success"] = False
            answer["message"] = str(error).splitlines()[-1][:100]
        print(json.dumps(answer), flush=True)

"""scipy_dae (Radau IIA and BDF in Python) on the problems as they stand: pendulum, index-3 toy, robotic arm, Akzo Nobel.

Prints one JSON document for each problem, method and tolerance.
"""
import json
import math
import time
from importlib.metadata import version

import numpy as np
from scipy_dae.integrate import solve_dae

import solve_problems as problems


class Names:
    sin, cos, sqrt = math.sin, math.cos, math.sqrt


def pendulum(t, y, d):
    x, z, u, v, f = y
    return np.array([d[0] - u, d[1] - v, d[2] + f * x, d[3] + f * z + 9.81, x * x + z * z - 1])


def toy(t, y, d):
    return np.array([d[1] - y[0], d[2] - y[1], y[2] + math.sin(t)])


def akzo(t, y, d):
    rates = problems.akzo(Names, y[:5], y[5])
    return np.array([d[i] - rates[i] for i in range(5)] + [problems.AKZO_KS * y[0] * y[3] - y[5]])


def arm(t, s, r):
    x1, x2, x3, x4, x5, x6, x7, x8 = s
    n = 2 - math.cos(x3) ** 2
    a, b, c, d = 2 / n, math.cos(x3) / n, math.sin(x3) / n, math.cos(x3) * math.sin(x3) / n
    e = 2 * x3 - x2
    return np.array([
        r[0] - x4, r[1] - x5, r[2] - x6,
        r[3] - (2 * c * (x4 + x6) ** 2 + x4**2 * d + e * (a + 2 * b) + a * x7),
        r[4] - (-2 * c * (x4 + x6) ** 2 - x4**2 * d + e * (1 - 3 * a - 2 * b) - a * x7 + x8),
        r[5] - (-2 * c * (x4 + x6) ** 2 - x4**2 * d + e * (a - 9 * b) - (a + b) * x7 - d * (x4 + x6) ** 2 - 2 * x4**2 * c),
        math.cos(x1) + math.cos(x1 + x3) - math.cos(math.exp(t) - 1) - math.cos(t - 1),
        math.sin(x1) + math.sin(x1 + x3) - math.sin(1 - math.exp(t)) - math.sin(1 - t),
    ])


arm_start = [0.0, 0.95375035118071916, 1.0, -1.0, -2.5319168790105381, 0.0, -3.5343727972411722, -0.74375268921139227]
arm_rates = [-1.0, -2.5319168790105381, 0.0, -1.0, -1.1476310913907008, 1.0, 0.0, 0.0]
akzo_start = problems.AKZO_START + [problems.AKZO_KS * 0.444 * 0.007]
cases = [
    ("pendulum", pendulum, [1, 0, 0, 0, 0], [0, 0, 0, -9.81, 0], 10.0, 2),
    ("index3-toy", toy, [0, -1, 0], [1, 0, -1], 1.0, 3),
    ("akzo-nobel", akzo, akzo_start, problems.akzo(Names, akzo_start[:5], akzo_start[5]) + [0.0], 180.0, 6),
    ("robotic-arm", arm, arm_start, arm_rates, 1.5, 8),
]
for name, residual, start, rates, end, n_values in cases:
    for method in ("Radau", "BDF"):
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
            tool = f"scipy_dae {method}"
            answer = {"problem": name, "tool": tool, "version": version("scipy_dae"), "form": "as it stands", "tolerance": tolerance, "setup": 0.0}
            begin = time.perf_counter()
            limit = 20.0

            def watched(t, y, d):
                if time.perf_counter() - begin > limit:
                    raise TimeoutError(f"not done after {limit} s")
                return residual(t, y, d)

            try:
                y0, d0 = np.array(start, dtype=float), np.array(rates, dtype=float)
                small = 1e-4 if name == "akzo-nobel" else 1.0
                result = solve_dae(watched, (0.0, end), y0, d0, method=method, rtol=tolerance, atol=small * tolerance)
                answer["solve"] = time.perf_counter() - begin
                answer["success"] = bool(result.success)
                answer["message"] = str(result.message)[:110]
                answer["values"] = [float(value) for value in result.y[:n_values, -1]]
            except Exception as error:
                answer["success"] = False
                answer["message"] = str(error)[-110:]
            print(json.dumps(answer), flush=True)

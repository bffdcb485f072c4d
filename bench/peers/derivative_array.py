"""The derivative array of the robotic arm by sympy and numpy, as a script that a user might write.

Usage: derivative_array.py expected.json. Prints the rank of B^[5] at t = 0.5, its condition and the seconds it took.
"""

import json
import sys
import time

begin = time.perf_counter()
import numpy as np
import sympy as sp

t = sp.symbols("t")
ORDER = 5
x = [[sp.symbols(f"x{j + 1}_{k}") for k in range(ORDER + 2)] for j in range(8)]
x1, x2, x3, x4, x5, x6, x7, x8 = (row[0] for row in x)
rate = [row[1] for row in x]
den = 2 - sp.cos(x3) ** 2
a, b, c, d = 2 / den, sp.cos(x3) / den, sp.sin(x3) / den, sp.cos(x3) * sp.sin(x3) / den
spring = 2 * x3 - x2
first = 2 * c * (x4 + x6) ** 2 + x4**2 * d
residuals = [
    rate[0] - x4,
    rate[1] - x5,
    rate[2] - x6,
    rate[3] - (first + spring * (a + 2 * b) + a * x7),
    rate[4] - (-first + spring * (1 - 3 * a - 2 * b) - a * x7 + x8),
    rate[5] - (-first + spring * (a - 9 * b) - (a + b) * x7 - d * (x4 + x6) ** 2 - 2 * x4**2 * c),
    sp.cos(x1) + sp.cos(x1 + x3) - sp.cos(sp.exp(t) - 1) - sp.cos(t - 1),
    sp.sin(x1) + sp.sin(x1 + x3) - sp.sin(1 - sp.exp(t)) - sp.sin(1 - t),
]


def derivative(expression):
    """The total time derivative."""
    result = sp.diff(expression, t)
    for row in x:
        for low, high in zip(row, row[1:]):
            slope = sp.diff(expression, low)
            if slope != 0:
                result += slope * high
    return result


rows = list(residuals)
block = residuals
for _ in range(ORDER - 1):
    block = [derivative(expression) for expression in block]
    rows += block
columns = [x[j][k] for k in range(ORDER + 1) for j in range(8)]
jacobian = sp.Matrix([[sp.diff(row, column) for column in columns] for row in rows])
symbols = [t] + [symbol for row in x for symbol in row]
function = sp.lambdify(symbols, jacobian, "numpy", cse=True)

solution = next(
    s for s in json.load(open(sys.argv[1]))["solution"] if s["time"] == "0.5" and "derivatives" in s
)
values = [0.5]
for j in range(8):
    digits = solution["derivatives"][f"x{j + 1}"]
    values += [float(digits[k]) for k in range(ORDER + 2)]
array = np.array(function(*values), dtype=float)
top = np.zeros((8, array.shape[1]))
top[range(6), range(6)] = 1
singular = np.linalg.svd(np.vstack([top, array]), compute_uv=False)
rank = int((singular > 1e-12 * singular[0]).sum())
print("rank", rank)
print("condition", repr(float(singular[0] / singular[rank - 1])))
print("seconds", time.perf_counter() - begin)

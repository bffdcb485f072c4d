"""scipy_dae (Radau IIA and BDF in Python) on the manipulators, without torques: as they stand, and with the path differentiated by hand.

Prints one JSON document for each problem, form, method and tolerance.
"""
import json
import math
import time
from importlib.metadata import version

import numpy as np
from scipy_dae.integrate import solve_dae

import manipulator_problems as problems


class Names:
    sin, cos = math.sin, math.cos


def e1_written(t, y, d):
    parts = problems.e1(Names, t, y, d[2:4])
    return np.array([parts["dynamics"], d[0] - y[2], d[1] - y[3], parts["path"][0]])


def e1_index1(t, y, d):
    parts = problems.e1(Names, t, y, d[2:4])
    return np.array([parts["dynamics"], d[1] - y[3], parts["path"][0], parts["path"][2]])


def e12_parts(t, y, a, vm):
    return problems.e12(Names, t, y[0:3], y[5:8], a, y[3:5], vm)


def e12_written(t, y, d):
    dynamics, path = e12_parts(t, y, d[5:8], y[8:10])
    return np.array([*dynamics, *(d[:5] - y[5:10]), *path[:2]])


def e12_index1(t, y, d):
    # a1 and a2 are unknowns of their own, as in the form I1.
    dynamics, path = e12_parts(t, y, [y[10], y[11], d[7]], y[8:10])
    return np.array([*dynamics, *(d[2:5] - y[7:10]), *path])


e1_names = ["x1", "x2", "x3", "x4"]
e12_names = ["q[1]", "q[2]", "q[3]", "qm[1]", "qm[2]", "v[1]", "v[2]", "v[3]"]
e12_start = problems.E12_START + problems.E12_START[:2] + [0.0] * 5
cases = [
    ("E1", "as it stands", e1_written, problems.E1_START, problems.E1["T"], e1_names),
    ("E1", "form (49)", e1_index1, problems.E1_START, problems.E1["T"], e1_names),
    ("E12", "I3", e12_written, e12_start, problems.E12_TIME, e12_names),
    ("E12", "I1", e12_index1, e12_start + [0.0, 0.0], problems.E12_TIME, e12_names),
]
for name, form, residual, start, end, names in cases:
    for method in ("Radau", "BDF"):
        for tolerance in (1e-4, 1e-6, 1e-8):
            y0, yp0 = np.array(start, float), np.zeros(len(start))
            begin = time.perf_counter()

            def watched(t, y, d):
                if time.perf_counter() - begin > 20:
                    raise TimeoutError("more than 20 s")
                return residual(t, y, d)

            document = dict(problem=name, tool=f"scipy_dae {method}", version=version("scipy_dae"), form=form, tolerance=tolerance, setup=0.0, end=end)
            try:
                found = solve_dae(watched, (0.0, end), y0, yp0, method=method, rtol=tolerance, atol=tolerance)
                document.update(success=bool(found.success), message=str(found.message))
                if found.success:
                    document["values"] = dict(zip(names, map(float, found.y[:, -1])))
            except Exception as error:
                document.update(success=False, message=f"{type(error).__name__}: {error}")
            document["solve"] = time.perf_counter() - begin
            print(json.dumps(document))

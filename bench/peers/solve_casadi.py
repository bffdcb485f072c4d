"""CasADi's IDAS: index 1 by hand for pendulum, Andrews, Akzo Nobel and the chain; the rest as it stands.

Prints one JSON document for each problem and tolerance.
"""
import json
import math
import time

import casadi as ca

import solve_problems as problems


class Names:
    sin, cos, sqrt = ca.sin, ca.cos, ca.sqrt
    diff = staticmethod(lambda expr, by: ca.jacobian(expr, by))


def symbols(word, n):
    return ca.vertsplit(ca.SX.sym(word, n))


def pendulum():
    x, y, u, v = symbols("s", 4)
    (z,) = symbols("z", 1)
    ode = [u, v, -z * x, -z * y - 9.81]
    return [x, y, u, v], [z], ode, [u**2 + v**2 - z * (x**2 + y**2) - 9.81 * y], [1, 0, 0, 0], [0], 10.0, lambda s, z: s[:2]


def andrews():
    q, v, w = symbols("q", 7), symbols("v", 7), symbols("w", 13)
    matrix, right = problems.andrews_accelerations(Names, q, v)
    alg = [
        sum(a * wj for a, wj in zip(row, w) if a is not None) - r for row, r in zip(matrix, right)
    ]
    guess = [14222.4, -10666.8, 0, 0, 0, 0, 0, 98.6, -6.1, 0, 0, 0, 0]
    return q + v, w, v + w[:7], alg, problems.ANDREWS_START + [0] * 7, guess, 0.03, lambda s, z: s[:7]


def akzo():
    y, (y6,) = symbols("y", 5), symbols("z", 1)
    rates = problems.akzo(Names, y, y6)
    return y, [y6], rates, [problems.AKZO_KS * y[0] * y[3] - y6], problems.AKZO_START, [0.36], 180.0, lambda s, z: s + z


def chain(n):
    x, y, u, v, f = (symbols(word, n) for word in "xyuvf")
    zero = ca.SX(0)
    dx = [x[i] - (x[i - 1] if i else zero) for i in range(n)]
    dy = [y[i] - (y[i - 1] if i else zero) for i in range(n)]
    du = [u[i] - (u[i - 1] if i else zero) for i in range(n)]
    dv = [v[i] - (v[i - 1] if i else zero) for i in range(n)]
    last = n - 1
    ax = [-f[i] * dx[i] + (f[i + 1] * dx[i + 1] if i < last else 0) for i in range(n)]
    ay = [-f[i] * dy[i] + (f[i + 1] * dy[i + 1] if i < last else 0) - 9.81 for i in range(n)]
    alg = [
        du[i] ** 2 + dv[i] ** 2 + dx[i] * (ax[i] - (ax[i - 1] if i else 0)) + dy[i] * (ay[i] - (ay[i - 1] if i else 0))
        for i in range(n)
    ]
    # Link by link, so that the matrices are banded.
    places = problems.chain_start(n)
    start = [value for i in range(n) for value in (places[i], places[n + i], 0, 0)]
    states = [value for i in range(n) for value in (x[i], y[i], u[i], v[i])]
    rates = [value for i in range(n) for value in (u[i], v[i], ax[i], ay[i])]
    return states, f, rates, alg, start, [0] * n, 1.0, lambda s, z: s[0::4] + s[1::4]


def toy():
    # x1 is algebraic; index 3.
    x2, x3 = symbols("s", 2)
    (x1,) = symbols("z", 1)
    t = ca.SX.sym("t")
    return [x2, x3], [x1], [x1, x2], [x3 + ca.sin(t)], [-1, 0], [0], 1.0, lambda s, z: z + s, t


def arm():
    x1, x2, x3, x4, x5, x6 = symbols("s", 6)
    x7, x8 = symbols("z", 2)
    t = ca.SX.sym("t")
    n = 2 - ca.cos(x3) ** 2
    a, b, c, d = 2 / n, ca.cos(x3) / n, ca.sin(x3) / n, ca.cos(x3) * ca.sin(x3) / n
    e = 2 * x3 - x2
    ode = [
        x4, x5, x6,
        2 * c * (x4 + x6) ** 2 + x4**2 * d + e * (a + 2 * b) + a * x7,
        -2 * c * (x4 + x6) ** 2 - x4**2 * d + e * (1 - 3 * a - 2 * b) - a * x7 + x8,
        -2 * c * (x4 + x6) ** 2 - x4**2 * d + e * (a - 9 * b) - (a + b) * x7 - d * (x4 + x6) ** 2 - 2 * x4**2 * c,
    ]
    alg = [
        ca.cos(x1) + ca.cos(x1 + x3) - ca.cos(ca.exp(t) - 1) - ca.cos(t - 1),
        ca.sin(x1) + ca.sin(x1 + x3) - ca.sin(1 - ca.exp(t)) - ca.sin(1 - t),
    ]
    start = [0.0, 0.95375035118071916, 1.0, -1.0, -2.5319168790105381, 0.0]
    guess = [-3.5343727972411722, -0.74375268921139227]
    return [x1, x2, x3, x4, x5, x6], [x7, x8], ode, alg, start, guess, 1.5, lambda s, z: s + z, t


cases = [("pendulum", pendulum, "index 1 by hand"), ("andrews", andrews, "index 1 by hand"), ("akzo-nobel", akzo, "as it stands")]
cases += [("index3-toy", toy, "as it stands"), ("robotic-arm", arm, "as it stands")]
cases += [(f"pendulum-chain {n}", lambda n=n: chain(n), "index 1 by hand") for n in (10, 100, 1000)]
for name, make, form in cases:
    begin = time.perf_counter()
    x, z, ode, alg, start, guess, end, values, *t = make()
    dae = {"x": ca.vertcat(*x), "z": ca.vertcat(*z), "ode": ca.vertcat(*ode), "alg": ca.vertcat(*alg)}
    if t:
        dae["t"] = t[0]
    built = time.perf_counter() - begin
    spent_on_all = 0.0
    for tolerance in problems.TOLERANCES[::2]:
        if spent_on_all > 60.0:
            break
        answer = {"problem": name, "tool": "casadi idas", "version": ca.__version__, "form": form, "tolerance": tolerance}
        try:
            begin = time.perf_counter()
            small = 1e-4 if name == "akzo-nobel" else 1.0
            options = {"reltol": tolerance, "abstol": small * tolerance, "max_num_steps": 1000000, "calc_ic": True, "suppress_algebraic": True}
            integrator = ca.integrator("run", "idas", dae, 0.0, end, options)
            answer["setup"] = built + time.perf_counter() - begin
            best, spent = math.inf, 0.0
            for repeat in range(50):
                begin = time.perf_counter()
                result = integrator(x0=start, z0=guess)
                once = time.perf_counter() - begin
                best, spent = min(best, once), spent + once
                if spent > 0.5 and (repeat >= 2 or spent > 20.0):
                    break
            spent_on_all += spent
            s, w = ([float(v) for v in result[key].full().ravel()] for key in ("xf", "zf"))
            answer["solve"] = best
            answer["success"] = True
            answer["message"] = ""
            answer["values"] = values(s, w)
        except Exception as error:
            answer["success"] = False
            text = [line for line in str(error).splitlines() if line.strip()]
            answer["message"] = text[-1][-110:] if text else "failed"
        print(json.dumps(answer), flush=True)

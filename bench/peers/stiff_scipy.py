"""The stiff problems by SciPy, from equations of their own: times beside daelight's, and references.

stiff_scipy.py FILE METHOD RTOL: a line of JSON for every problem of FILE (lines of names, end times and values).
stiff_scipy.py reference NAME TO: values of a problem at two tolerances, by Radau or, where that is affordable, by the explicit
DOP853, which is more exact; digits that agree are right.
Index-2 and index-3 problems are written here as ordinary differential equations, reduced by hand; the amplifier solves for its
node voltages inside. SciPy is free to use as many steps as it likes.
"""

import json
import math
import sys
import time

import numpy as np
from scipy.integrate import solve_ivp


class Problem:
    """A right-hand side, its start, the times at which it jumps, a band of its Jacobian, and the way to the model's unknowns."""

    def __init__(self, f, start, jumps=(), band=None, back=lambda t, y: y, nominal=None):
        self.f, self.start, self.jumps, self.band, self.back = f, np.array(start, float), jumps, band, back
        self.nominal = nominal

    def solve(self, to, method, rtol, atol=None):
        y, begin = self.start, 0.0
        n = len(y)
        atol = rtol * np.ones(n) if atol is None else atol
        for end in [t for t in self.jumps if t < to] + [to]:
            more = {}
            if self.band and method == "LSODA":
                more = {"lband": self.band, "uband": self.band}
            elif self.band and method in ("Radau", "BDF"):
                from scipy.sparse import diags

                pattern = diags([np.ones(n)] * (2 * self.band + 1), range(-self.band, self.band + 1), shape=(n, n))
                more = {"jac_sparsity": pattern}
            inside = begin + 1e-14 * max(end - begin, 1.0) if begin > 0 else begin
            found = solve_ivp(self.f, (inside, end), y, method=method, rtol=max(rtol, 3e-14), atol=atol, **more)
            if not found.success:
                raise RuntimeError(found.message)
            y, begin = found.y[:, -1], end
        return self.back(to, y)


def robertson(t, y):
    a, b, c = y
    r1, r2, r3 = 0.04 * a, 1e4 * b * c, 3e7 * b * b
    return [-r1 + r2, r1 - r2 - r3, r3]


def oregonator(t, y):
    a, b, c = y
    return [77.27 * (b + a * (1 - 8.375e-6 * a - b)), (c - (1 + a) * b) / 77.27, 0.161 * (a - c)]


def hires(t, y):
    r = 280 * y[5] * y[7]
    return [
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * (y[5] + y[6]),
        -r + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        r - 1.81 * y[6],
        -r + 1.81 * y[6],
    ]


def van_der_pol(t, y):
    return [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / 1e-6]


def e5(t, y):
    a, b, c, m = 7.89e-10, 1.1e7, 1.13e3, 1e6
    r1, r2, r3, r4 = a * y[0], b * y[0] * y[2], m * c * y[1] * y[2], c * y[3]
    return [-r1 - r2, r1 - r3, r1 - r2 + r4 - r3, r2 - r4]


def medical_akzo(n=200):
    d, c, k = 1 / n, 4.0, 100.0
    z = np.arange(1, n + 1) * d - 1
    alpha, beta = 2 * z**3 / c**2, z**4 / c**2

    def f(t, y):
        u, v = y[0::2], y[1::2]
        phi = 2.0 if t <= 5 else 0.0
        below = np.concatenate(([phi], u[:-1]))
        above = np.concatenate((u[1:], u[-1:]))
        r = k * u * v
        out = np.empty_like(y)
        out[0::2] = alpha * (above - below) / (2 * d) + beta * (below - 2 * u + above) / d**2 - r
        out[1::2] = -r
        return out

    start = np.zeros(2 * n)
    start[1::2] = 1
    return Problem(f, start, (5.0,), 2, lambda t, y: np.concatenate((y[0::2], y[1::2])))


def brusselator(n=100):
    x = np.arange(1, n + 1) / (n + 1)
    alpha = 0.02 * (n + 1) ** 2

    def f(t, y):
        u, v = y[0::2], y[1::2]
        lap = lambda w, edge: np.concatenate(([edge], w[:-1])) - 2 * w + np.concatenate((w[1:], [edge]))
        out = np.empty_like(y)
        out[0::2] = 1 + u * u * v - 4 * u + alpha * lap(u, 1.0)
        out[1::2] = 3 * u - u * u * v + alpha * lap(v, 3.0)
        return out

    start = np.empty(2 * n)
    start[0::2] = 1 + np.sin(2 * math.pi * x)
    start[1::2] = 3
    return Problem(f, start, (), 2, lambda t, y: np.concatenate((y[0::2], y[1::2])))


def heat(n=2000):
    def f(t, u):
        out = -2 * u
        out[1:] += u[:-1]
        out[:-1] += u[1:]
        return (n + 1) ** 2 * out

    i = np.arange(1, n + 1) / (n + 1)
    return Problem(f, np.sin(math.pi * i) + 0.5 * np.sin(10 * math.pi * i), (), 1)


def heat_exactly(to, n=2000):
    """Sines are eigenvectors of the matrix, with eigenvalues -4 (n+1)^2 sin^2(m pi / (2 (n+1)))."""
    i = np.arange(1, n + 1) / (n + 1)
    mode = lambda m: np.exp(-4 * (n + 1) ** 2 * math.sin(m * math.pi / (2 * (n + 1))) ** 2 * to) * np.sin(m * math.pi * i)
    return mode(1) + 0.5 * mode(10)


def fekete(n=20):
    """p'' on the sphere: the multiplier is -(|q|^2 + p.f), so that p.q stays 0."""
    pi = math.pi
    omega = [2 * i * pi / 3 + pi / 13 for i in (1, 2, 3)] + [2 * i * pi / 7 + pi / 29 for i in range(1, 8)]
    omega += [i * pi / 3 + pi / 7 for i in range(1, 7)] + [i * pi / 2 + pi / 17 for i in range(4)]
    beta = [3 * pi / 8] * 3 + [pi / 8] * 7 + [-2 * pi / 15] * 6 + [-3 * pi / 10] * 4
    p = np.array([[math.cos(w) * math.cos(b), math.sin(w) * math.cos(b), math.sin(b)] for w, b in zip(omega, beta)])

    def parts(y):
        p, q = y[: 3 * n].reshape(n, 3), y[3 * n :].reshape(n, 3)
        apart = p[:, None, :] - p[None, :, :]
        force = (apart / ((apart**2).sum(2) + np.eye(n))[:, :, None]).sum(1) - 0.5 * q
        twice = -((q * q).sum(1) + (p * force).sum(1)) / (p * p).sum(1)
        return p, q, force, twice

    def f(t, y):
        p, q, force, twice = parts(y)
        return np.concatenate((q.ravel(), (force + twice[:, None] * p).ravel()))

    def back(t, y):
        return np.concatenate((y, 0.5 * parts(y)[3], np.zeros(n)))

    return Problem(f, np.concatenate((p.ravel(), np.zeros(3 * n))), (), None, back)


def stiff_swing(g=9.81, k=1e6, d=2e3):
    """The first bob by its angle: no constraint is left."""

    def parts(y):
        angle, rate, x2, y2, vx2, vy2 = y
        x1, y1 = math.sin(angle), -math.cos(angle)
        vx1, vy1 = rate * math.cos(angle), rate * math.sin(angle)
        dx, dy = x2 - x1, y2 - y1
        s = math.hypot(dx, dy)
        force = k * (s - 1) + d * (dx * (vx2 - vx1) + dy * (vy2 - vy1)) / s
        return x1, y1, vx1, vy1, dx, dy, s, force

    def f(t, y):
        x1, y1, vx1, vy1, dx, dy, s, force = parts(y)
        along = (force * dx / s) * math.cos(y[0]) + (force * dy / s - g) * math.sin(y[0])
        return [y[1], along, y[4], y[5], -force * dx / s, -g - force * dy / s]

    def back(t, y):
        x1, y1, vx1, vy1, dx, dy, s, force = parts(y)
        # lambda = pull along the rod: v^2 + (force/s) d.(x1, y1) - g y1.
        pull = vx1**2 + vy1**2 + force / s * (dx * x1 + dy * y1) - g * y1
        return np.array([x1, y1, vx1, vy1, y[2], y[3], y[4], y[5], s, force, pull])

    return Problem(f, [math.pi / 2, 0, 1, -1, 0, 0], (), None, back)


def transistor():
    """Five charges; the eight voltages follow from them and three balances of currents by Newton's method."""
    ub, uf, alpha, beta, r0, r = 6.0, 0.026, 0.99, 1e-6, 1000.0, 9000.0
    c = np.array([1, 2, 3, 4, 5]) * 1e-6
    last = np.array([0, ub / 2, ub / 2, ub, ub / 2, ub / 2, ub, 0.0])

    def currents(t, y):
        g1, g2 = beta * math.expm1((y[1] - y[2]) / uf), beta * math.expm1((y[4] - y[5]) / uf)
        return np.array(
            [
                (y[0] - 0.1 * math.sin(200 * math.pi * t)) / r0,
                y[1] * 2 / r - ub / r + (1 - alpha) * g1,
                y[2] / r - g1,
                (y[3] - ub) / r + alpha * g1,
                y[4] * 2 / r - ub / r + (1 - alpha) * g2,
                y[5] / r - g2,
                (y[6] - ub) / r + alpha * g2,
                y[7] / r,
            ]
        ), g1, g2

    def voltages(t, q):
        # q = c1 (y2 - y1), c2 y3, c3 (y5 - y4), c4 y6, c5 (y8 - y7), over c.
        y = last.copy()
        for _ in range(60):
            i, g1, g2 = currents(t, y)
            s1, s2 = (g1 + beta) / uf, (g2 + beta) / uf
            res = np.array([y[1] - y[0] - q[0], y[2] - q[1], y[4] - y[3] - q[2], y[5] - q[3], y[7] - y[6] - q[4],
                            r * (i[0] + i[1]), r * (i[3] + i[4]), r * (i[6] + i[7])])
            jac = np.zeros((8, 8))
            jac[0, 1], jac[0, 0] = 1, -1
            jac[1, 2] = 1
            jac[2, 4], jac[2, 3] = 1, -1
            jac[3, 5] = 1
            jac[4, 7], jac[4, 6] = 1, -1
            jac[5, 0], jac[5, 1], jac[5, 2] = r / r0, 2 + r * (1 - alpha) * s1, -r * (1 - alpha) * s1
            jac[6, 3], jac[6, 1], jac[6, 2] = 1, r * alpha * s1, -r * alpha * s1
            jac[6, 4], jac[6, 5] = 2 + r * (1 - alpha) * s2, -r * (1 - alpha) * s2
            jac[7, 6], jac[7, 7], jac[7, 4], jac[7, 5] = 1, 1, r * alpha * s2, -r * alpha * s2
            step = np.linalg.solve(jac, -res)
            y = y + step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-300))
            if np.abs(step).max() < 1e-15:
                break
        last[:] = y
        return y

    def f(t, q):
        i, _, _ = currents(t, voltages(t, q))
        return [i[0] / c[0], -i[2] / c[1], i[3] / c[2], -i[5] / c[3], i[6] / c[4]]

    def back(t, q):
        y = voltages(t, q)
        _, g1, g2 = currents(t, y)
        return np.concatenate((y, [g1, g2]))

    return Problem(f, [ub / 2, ub / 2, ub / 2 - ub, ub / 2, -ub], (), None, back)


PROBLEMS = {
    "Robertson": lambda: Problem(robertson, [1, 0, 0]),
    "Oregonator": lambda: Problem(oregonator, [1, 2, 3]),
    "Hires": lambda: Problem(hires, [1, 0, 0, 0, 0, 0, 0, 0.0057]),
    "VanDerPol": lambda: Problem(van_der_pol, [2, 0]),
    "E5": lambda: Problem(e5, [1.76e-3, 0, 0, 0]),
    "MedicalAkzo": medical_akzo,
    "Brusselator": brusselator,
    "Heat": heat,
    "Fekete": fekete,
    "StiffSwing": stiff_swing,
    "TransistorAmplifier": transistor,
}


def reference(name, to):
    if name == "Heat":
        return heat_exactly(to), heat_exactly(to)
    if name in ("StiffSwing", "Fekete"):
        return tuple(PROBLEMS[name]().solve(to, "DOP853", rtol) for rtol in (1e-12, 1e-13))
    return tuple(PROBLEMS[name]().solve(to, "Radau", rtol) for rtol in (1e-11, 1e-12))


def main():
    if sys.argv[1] == "reference":
        name, to = sys.argv[2], float(sys.argv[3])
        coarse, fine = reference(name, to)
        print("differ by", np.abs((coarse - fine) / (np.abs(fine) + 1e-3)).max(), file=sys.stderr)
        print(name, f"{to:g}", *(repr(float(x)) for x in fine))
        return
    method, rtol = sys.argv[2], float(sys.argv[3])
    for line in open(sys.argv[1]):
        words = line.split()
        if not words or words[0] not in PROBLEMS:
            continue
        to, wanted = float(words[1]), np.array([float(word) for word in words[2:]])
        problem = PROBLEMS[words[0]]()
        began = time.process_time()
        try:
            found = problem.solve(to, method, rtol)
            seconds = time.process_time() - began
            apart = np.abs(found[: len(wanted)] - wanted) / (rtol * (np.abs(wanted) + 1))
            print(json.dumps({"name": words[0], "to": to, "seconds": seconds, "error": float(apart.max())}), flush=True)
        except Exception as error:
            print(json.dumps({"name": words[0], "to": to, "seconds": None, "error": str(error)[:80]}), flush=True)


if __name__ == "__main__":
    main()

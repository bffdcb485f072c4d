"""The problems of `bench solve`, written by hand for peers that take ordinary equations or index 1.

Every function takes the peer's own `sin`, `cos`, `sqrt` and `diff`, so that one text serves all of them.
"""
import math

TOLERANCES = [10.0 ** (-k / 2) for k in range(6, 27)]


def andrews_parts(ns, q, v, mom=0.033):
    """Mass matrix, forces and constraints of Andrews' squeezer; M w + G' lambda = f, g = 0."""
    sin, cos, sqrt = ns.sin, ns.cos, ns.sqrt
    m1, m2, m3, m4, m5, m6, m7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498
    i1, i2, i3, i4, i5, i6, i7 = 2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5
    xa, ya, xb, yb, xc, yc = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
    rr, d, ss, e, zt, zf, u = 0.007, 0.028, 0.035, 0.02, 0.04, 0.02, 0.04
    ra, da, sa, sb, sc, sd = 0.00092, 0.0115, 0.01874, 0.01043, 0.018, 0.02
    ea, fa, ta, tb, ua, ub = 0.01421, 0.01421, 0.02308, 0.00916, 0.01228, 0.00449
    c0, l0 = 4530.0, 0.07785
    be, th, ga, ph, de, om, ep = q
    m = [[0.0] * 7 for _ in range(7)]
    m[0][0] = m1 * ra**2 + m2 * (rr**2 - 2 * da * rr * cos(th) + da**2) + i1 + i2
    m[0][1] = m[1][0] = m2 * (da**2 - da * rr * cos(th)) + i2
    m[1][1] = m2 * da**2 + i2
    m[2][2] = m3 * (sa**2 + sb**2) + i3
    m[3][3] = m4 * (e - ea) ** 2 + i4
    m[3][4] = m[4][3] = m4 * ((e - ea) ** 2 + zt * (e - ea) * sin(ph)) + i4
    m[4][4] = m4 * (zt**2 + 2 * zt * (e - ea) * sin(ph) + (e - ea) ** 2) + m5 * (ta**2 + tb**2) + i4 + i5
    m[5][5] = m6 * (zf - fa) ** 2 + i6
    m[5][6] = m[6][5] = m6 * ((zf - fa) ** 2 - u * (zf - fa) * sin(om)) + i6
    m[6][6] = m6 * ((zf - fa) ** 2 - 2 * u * (zf - fa) * sin(om) + u**2) + m7 * (ua**2 + ub**2) + i6 + i7
    xd = sd * cos(ga) + sc * sin(ga) + xb
    yd = sd * sin(ga) - sc * cos(ga) + yb
    length = sqrt((xd - xc) ** 2 + (yd - yc) ** 2)
    pull = -c0 * (length - l0) / length
    f = [
        mom - m2 * da * rr * v[1] * (v[1] + 2 * v[0]) * sin(th),
        m2 * da * rr * v[0] ** 2 * sin(th),
        pull * ((xd - xc) * (sc * cos(ga) - sd * sin(ga)) + (yd - yc) * (sd * cos(ga) + sc * sin(ga))),
        m4 * zt * (e - ea) * v[4] ** 2 * cos(ph),
        -m4 * zt * (e - ea) * v[3] * (v[3] + 2 * v[4]) * cos(ph),
        -m6 * u * (zf - fa) * v[6] ** 2 * cos(om),
        m6 * u * (zf - fa) * v[5] * (v[5] + 2 * v[6]) * cos(om),
    ]
    g = [
        rr * cos(be) - d * cos(be + th) - ss * sin(ga) - xb,
        rr * sin(be) - d * sin(be + th) + ss * cos(ga) - yb,
        rr * cos(be) - d * cos(be + th) - e * sin(ph + de) - zt * cos(de) - xa,
        rr * sin(be) - d * sin(be + th) + e * cos(ph + de) - zt * sin(de) - ya,
        rr * cos(be) - d * cos(be + th) - zf * cos(om + ep) - u * sin(ep) - xa,
        rr * sin(be) - d * sin(be + th) - zf * sin(om + ep) + u * cos(ep) - ya,
    ]
    return m, f, g


ANDREWS_START = [
    -0.06171389001427645, 0.0, 0.45527981916307037, 0.22266839016588588,
    0.48736497954384256, -0.22266839016588588, 1.2305474445498212,
]


def andrews_accelerations(ns, q, v, mom=0.033):
    """The matrix [M G'; G 0] and the right-hand side for accelerations and forces; None for zeros."""
    m, f, g = andrews_parts(ns, q, v, mom)
    jacobian = [[ns.diff(gi, qj) for qj in q] for gi in g]
    rates = [sum(jij * vj for jij, vj in zip(row, v)) for row in jacobian]
    curvature = [sum(ns.diff(r, qj) * vj for qj, vj in zip(q, v)) for r in rates]
    depends = {0: (0, 1, 2), 1: (0, 1, 2), 2: (0, 1, 3, 4), 3: (0, 1, 3, 4), 4: (0, 1, 5, 6), 5: (0, 1, 5, 6)}
    a = [[None] * 13 for _ in range(13)]
    for i in range(7):
        for j in range(7):
            if not (isinstance(m[i][j], float) and m[i][j] == 0.0):
                a[i][j] = m[i][j]
    for i in range(6):
        for j in depends[i]:
            a[7 + i][j] = a[j][7 + i] = jacobian[i][j]
    return a, list(f) + [-c for c in curvature]


def eliminate(a, b):
    """Gauss without pivoting (M is definite, and so is its Schur complement); gives the solution."""
    n = len(b)
    a, b = [row[:] for row in a], b[:]
    for k in range(n):
        for i in range(k + 1, n):
            if a[i][k] is None:
                continue
            factor = a[i][k] / a[k][k]
            for j in range(k + 1, n):
                if a[k][j] is not None:
                    product = factor * a[k][j]
                    a[i][j] = -product if a[i][j] is None else a[i][j] - product
            b[i] = b[i] - factor * b[k]
    x = [None] * n
    for k in reversed(range(n)):
        rest = b[k]
        for j in range(k + 1, n):
            if a[k][j] is not None:
                rest = rest - a[k][j] * x[j]
        x[k] = rest / a[k][k]
    return x


AKZO_START = [0.444, 0.00123, 0.0, 0.007, 0.0]


def akzo(ns, y, y6):
    """The rates of the Akzo Nobel problem; y6 = Ks y1 y4."""
    k1, k2, k3, k4, kk, kla, pco2, h = 18.7, 0.58, 0.09, 0.42, 34.4, 3.3, 0.9, 737.0
    root = ns.sqrt(y[1])
    r1, r2, r3 = k1 * y[0] ** 4 * root, k2 * y[2] * y[3], k2 / kk * y[0] * y[4]
    r4, r5 = k3 * y[0] * y[3] ** 2, k4 * y6**2 * root
    return [
        -2 * r1 + r2 - r3 - r4,
        -0.5 * r1 - r4 - 0.5 * r5 + kla * (pco2 / h - y[1]),
        r1 - r2 + r3,
        -r2 + r3 - 2 * r4,
        r2 - r3 + r5,
    ]


AKZO_KS = 115.83


def chain_start(n):
    half = math.sqrt(0.5)
    return [i * half for i in range(1, n + 1)] + [-i * half for i in range(1, n + 1)]

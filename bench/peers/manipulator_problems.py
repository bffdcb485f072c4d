"""The manipulators E1 and E12 of `bench manipulators`, written by hand for peers.

Every function takes the peer's own `sin` and `cos`, so that one text serves all of them.
"""
TOLERANCES = [1e-4, 1e-6, 1e-8, 1e-10]

E1 = dict(J11=1000.0, J12=700.0, J22=600.0, k=1e6, d=1000.0, z0=2.0**0.5, rise=0.1, T=0.1)
E1_START = [0.78539816339744831, 0.0, 0.0, 0.0]
E12_START = [-0.010741370672311705, 0.3117157958065821, 0.0]
MASS, CENTRE, LENGTH, INERTIA = [100.0, 100.0, 200.0], [0.5, 0.5, 0.1], [1.0, 1.0, 0.2], [5.0, 5.0, 50.0]
STIFFNESS, DAMPING = 1e5, 50.0
TOOL_START, TOOL_END, E12_TIME = (2.146, -0.345), (1.146, 1.645), 0.3


def smooth_step(t, duration):
    """The polynomial of degree 11 from 0 to 1, with its first two derivatives."""
    s = t / duration
    coefficients = [462, -1980, 3465, -3080, 1386, -252]
    value = sum(c * s ** (6 + i) for i, c in enumerate(coefficients))
    first = sum(c * (6 + i) * s ** (5 + i) for i, c in enumerate(coefficients)) / duration
    second = sum(c * (6 + i) * (5 + i) * s ** (4 + i) for i, c in enumerate(coefficients)) / duration**2
    return value, first, second


def e1(ns, t, x, rates):
    """Dynamics of the second joint, the path with two derivatives, and the torque."""
    x1, x2, x3, x4 = x
    a3, a4 = rates
    p = E1
    path, first, second = (p["rise"] * s for s in smooth_step(t, p["T"]))
    return dict(
        dynamics=p["J12"] * a3 + p["J22"] * a4 + p["k"] * x2 + p["d"] * x4,
        path=[
            ns.sin(x1) + ns.sin(x1 + x2) - p["z0"] - path,
            ns.cos(x1) * x3 + ns.cos(x1 + x2) * (x3 + x4) - first,
            ns.cos(x1) * a3 + ns.cos(x1 + x2) * (a3 + a4) - ns.sin(x1) * x3**2 - ns.sin(x1 + x2) * (x3 + x4) ** 2 - second,
        ],
        torque=p["J11"] * a3 + p["J12"] * a4 - p["k"] * x2 - p["d"] * x4,
    )


def e12(ns, t, q, v, a, qm, vm):
    """Dynamics of the three bodies, and the path with two derivatives, x and z each."""
    phi = [sum(q[: i + 1]) for i in range(3)]
    omega = [sum(v[: i + 1]) for i in range(3)]
    alpha = [sum(a[: i + 1]) for i in range(3)]

    def weight(i, j):
        arm = lambda body, of: LENGTH[of] if of < body else CENTRE[body]
        parts = (MASS[c] * arm(c, i) * arm(c, j) for c in range(max(i, j), 3))
        return sum(parts) + (INERTIA[i] if i == j else 0.0)

    gear = [STIFFNESS * (qm[i] - q[i]) + DAMPING * (vm[i] - v[i]) for i in range(2)]
    gear.append(-STIFFNESS * q[2] - DAMPING * v[2])
    dynamics = []
    for i in range(3):
        inertia = sum(
            weight(i, j) * (ns.cos(phi[i] - phi[j]) * alpha[j] + ns.sin(phi[i] - phi[j]) * omega[j] ** 2) for j in range(3)
        )
        dynamics.append(inertia - gear[i] + (gear[i + 1] if i < 2 else 0.0))
    s, first, second = smooth_step(t, E12_TIME)
    dx, dz = TOOL_END[0] - TOOL_START[0], TOOL_END[1] - TOOL_START[1]
    total = lambda terms: sum(l * term for l, term in zip(LENGTH, terms))
    sines, cosines = [ns.sin(p) for p in phi], [ns.cos(p) for p in phi]
    path = [
        total(cosines) - TOOL_START[0] - dx * s,
        -total(sines) - TOOL_START[1] - dz * s,
        -total(o * si for o, si in zip(omega, sines)) - dx * first,
        -total(o * co for o, co in zip(omega, cosines)) - dz * first,
        -total(b * si + o**2 * co for b, o, si, co in zip(alpha, omega, sines, cosines)) - dx * second,
        -total(b * co - o**2 * si for b, o, si, co in zip(alpha, omega, sines, cosines)) - dz * second,
    ]
    return dynamics, path

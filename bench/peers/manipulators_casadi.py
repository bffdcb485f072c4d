"""CasADi's IDAS on the manipulators: index 1 by hand, the elastic states as states and all else algebraic.

Prints one JSON document for each problem and tolerance.
"""
import json
import time

import casadi as ca

import manipulator_problems as problems


class Names:
    sin, cos = ca.sin, ca.cos


def symbols(word, n):
    return ca.vertsplit(ca.SX.sym(word, n))


def e1(t):
    x2, x4 = symbols("s", 2)
    x1, x3, a3, a4 = symbols("z", 4)
    parts = problems.e1(Names, t, [x1, x2, x3, x4], [a3, a4])
    ode, alg = [x4, a4], [*parts["path"], parts["dynamics"]]
    guess = [problems.E1_START[0], 0, 0, 0]
    values = dict(x1=x1, x2=x2, x3=x3, x4=x4, u=parts["torque"])
    return [x2, x4], [x1, x3, a3, a4], ode, alg, [0, 0], guess, problems.E1["T"], values


def e12(t):
    q3, v3, *qm = symbols("s", 4)
    q1, q2, v1, v2, a1, a2, a3, *vm = symbols("z", 9)
    dynamics, path = problems.e12(Names, t, [q1, q2, q3], [v1, v2, v3], [a1, a2, a3], qm, vm)
    ode, alg = [v3, a3, *vm], [*path, *dynamics]
    start, guess = [0, 0, *problems.E12_START[:2]], problems.E12_START[:2] + [0] * 7
    values = {"q[1]": q1, "q[2]": q2, "q[3]": q3, "qm[1]": qm[0], "qm[2]": qm[1], "v[1]": v1, "v[2]": v2, "v[3]": v3}
    return [q3, v3, *qm], [q1, q2, v1, v2, a1, a2, a3, *vm], ode, alg, start, guess, problems.E12_TIME, values


for name, problem in (("E1", e1), ("E12", e12)):
    for tolerance in problems.TOLERANCES:
        document = dict(problem=name, tool="casadi idas", version=ca.__version__, form="index 1 by hand", tolerance=tolerance)
        begin = time.perf_counter()
        try:
            t = ca.SX.sym("t")
            states, algebraic, ode, alg, start, guess, end, values = problem(t)
            dae = dict(t=t, x=ca.vertcat(*states), z=ca.vertcat(*algebraic), ode=ca.vertcat(*ode), alg=ca.vertcat(*alg))
            options = dict(reltol=tolerance, abstol=tolerance, max_num_steps=100000, calc_ic=True, suppress_algebraic=True)
            solver = ca.integrator("solver", "idas", dae, 0.0, end, options)
            read = ca.Function("read", [t, dae["x"], dae["z"]], [ca.vertcat(*values.values())])
            document.update(setup=time.perf_counter() - begin, end=end)
            begin = time.perf_counter()
            found = solver(x0=start, z0=guess)
            document["solve"] = time.perf_counter() - begin
            numbers = read(end, found["xf"], found["zf"]).full().ravel()
            document.update(success=True, message="", values=dict(zip(values, map(float, numbers))))
        except Exception as error:
            message = str(error).strip().splitlines()[-1]
            document.update(success=False, message=message, setup=0.0, solve=time.perf_counter() - begin)
        print(json.dumps(document))

"""Builds the residual and its Jacobians in CasADi from a listing of our graph, and writes them as C.

usage: casadi_engine.py LISTING FOLDER

Writes FOLDER/peer.c and FOLDER/pattern.txt (one line per entry: matrix, row, column), and prints the
seconds that building and writing took.
"""
import sys
import time

import casadi as ca

from listing import build, read

lines, counts = read(sys.argv[1])
folder = sys.argv[2]
start = time.perf_counter()
x = ca.SX.sym("x", counts["x"])
d = ca.SX.sym("d", counts["x"])
p = ca.SX.sym("p", counts["p"])
t = ca.SX.sym("t")
leaves = {
    "x": ca.vertsplit(x),
    "d": ca.vertsplit(d),
    "p": ca.vertsplit(p) if counts["p"] else [],
    "t": [t],
}
roots = build(lines, leaves, ca, lambda c, a, b: ca.if_else(c, a, b))
residual = ca.vertcat(*roots)
by_x, by_d = ca.jacobian(residual, x), ca.jacobian(residual, d)
inputs = [x, d, p, t]
generator = ca.CodeGenerator("peer.c", {"with_header": False})
generator.add(ca.Function("residual", inputs, [residual]))
generator.add(ca.Function("jacobian", inputs, [by_x, by_d]))
generator.generate(folder + "/")
with open(folder + "/pattern.txt", "w") as out:
    for name, matrix in (("x", by_x), ("d", by_d)):
        rows, columns = matrix.sparsity().get_triplet()
        for row, column in zip(rows, columns):
            out.write(f"{name} {row} {column}\n")
print("build_seconds", time.perf_counter() - start)
print("version", ca.__version__)

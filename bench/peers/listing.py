"""Reads a listing of an expression graph: one node per line, operands by line number."""


def read(path):
    """The lines after the first, and the counts of unknowns (x) and parameters (p) from it."""
    with open(path) as file:
        first, *lines = (line.split() for line in file)
    return lines, {"x": int(first[1]), "p": int(first[3])}


def build(lines, leaves, module, select):
    """The expressions of the roots, made with the functions of a module."""
    unary = {
        "Neg": lambda a: -a,
        "Sqrt": module.sqrt,
        "Exp": module.exp,
        "Log": module.log,
        "Sin": module.sin,
        "Cos": module.cos,
        "Tan": module.tan,
        "Asin": module.asin,
        "Acos": module.acos,
        "Atan": module.atan,
        "Sinh": module.sinh,
        "Cosh": module.cosh,
        "Tanh": module.tanh,
    }
    binary = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Div": lambda a, b: a / b,
        "Pow": lambda a, b: a**b,
        "Less": lambda a, b: a < b,
        "Greater": lambda a, b: a > b,
    }
    nodes, roots = [], []
    for kind, *rest in lines:
        if kind == "c":
            nodes.append(float(rest[0]))
        elif kind in leaves:
            nodes.append(leaves[kind][int(rest[0])])
        elif kind == "u":
            nodes.append(unary[rest[0]](nodes[int(rest[1])]))
        elif kind == "b":
            nodes.append(binary[rest[0]](nodes[int(rest[1])], nodes[int(rest[2])]))
        elif kind == "s":
            nodes.append(select(*(nodes[int(place)] for place in rest)))
        elif kind == "r":
            roots.append(nodes[int(rest[0])])
        else:
            raise SystemExit(f"unknown node {kind}")
    return roots

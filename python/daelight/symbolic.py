"""Models from SymPy: equations, or energies.

Expressions become Modelica text, which `Model.source` shows; nothing is evaluated by SymPy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .model import Model

_FUNCTIONS = {
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "asin",
    "acos": "acos",
    "atan": "atan",
    "atan2": "atan2",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "Abs": "abs",
    "sign": "sign",
    "Min": "min",
    "Max": "max",
}
_RELATIONS = {
    "StrictLessThan": "<",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "GreaterThan": ">=",
}
_WORDS = frozenset(
    "algorithm and annotation block break class connect connector constant constrainedby der discrete each else elseif "
    "elsewhen encapsulated end enumeration equation expandable extends external false final flow for function if import "
    "impure in initial inner input loop model not operator or outer output package parameter partial protected public pure "
    "record redeclare replaceable return stream then true type when while within".split()
)


def _name(text: str) -> str:
    """A Modelica name; in quotes where the plain one is none."""
    if re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) and text not in _WORDS and text != "time":
        return text
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


class _Writer:
    """Writes expressions in the unknowns and parameters that it was told of."""

    def __init__(self, unknowns: Sequence[Any], t: Any, parameters: Mapping[Any, Any]) -> None:
        self.t = t
        self.unknowns = {unknown: self._unknown_name(unknown) for unknown in unknowns}
        self.parameters = {symbol: _name(str(symbol)) for symbol in parameters}

    def _unknown_name(self, unknown: Any) -> str:
        if not (unknown.is_Function and unknown.args == (self.t,)):
            raise ValueError(f"`{unknown}` is no function of {self.t} such as x({self.t})")
        return _name(str(unknown.func))

    def text(self, expr: Any) -> str:
        if expr in self.unknowns:
            return self.unknowns[expr]
        if expr in self.parameters:
            return self.parameters[expr]
        if expr == self.t:
            return "time"
        kind = type(expr).__name__
        if expr.is_Symbol:
            raise ValueError(f"`{expr}` is neither an unknown nor a parameter nor the time")
        if expr.is_Integer:
            return str(int(expr)) if expr >= 0 else f"({int(expr)})"
        if expr.is_Rational:
            return f"({int(expr.p)}/{int(expr.q)})"
        if expr.is_Float or expr.is_NumberSymbol:
            value = repr(float(expr))
            return value if float(expr) >= 0 else f"({value})"
        if kind == "Derivative":
            return self._derivative(expr)
        if expr.is_Add:
            return "(" + " + ".join(self.text(part) for part in expr.args) + ")"
        if expr.is_Mul:
            return "(" + "*".join(self.text(part) for part in expr.args) + ")"
        if expr.is_Pow:
            return self._power(expr)
        if kind == "exp":
            return f"exp({self.text(expr.args[0])})"
        if kind == "Piecewise":
            return self._piecewise(expr)
        if kind in _RELATIONS:
            left, right = (self.text(part) for part in expr.args)
            return f"({left} {_RELATIONS[kind]} {right})"
        if kind in ("And", "Or"):
            return "(" + f" {kind.lower()} ".join(self.text(part) for part in expr.args) + ")"
        if kind == "Not":
            return f"(not {self.text(expr.args[0])})"
        if kind in ("Min", "Max"):
            return self._nested(_FUNCTIONS[kind], list(expr.args))
        if kind in _FUNCTIONS:
            return f"{_FUNCTIONS[kind]}({', '.join(self.text(part) for part in expr.args)})"
        raise ValueError(f"daelight has no counterpart of `{expr}`, a {kind}")

    def _nested(self, function: str, parts: list[Any]) -> str:
        text = self.text(parts[0])
        for part in parts[1:]:
            text = f"{function}({text}, {self.text(part)})"
        return text

    def _power(self, expr: Any) -> str:
        base, exponent = expr.args
        if exponent.is_Rational and (exponent.p, exponent.q) == (1, 2):
            return f"sqrt({self.text(base)})"
        if exponent.is_number and exponent.is_negative:
            denominator = self.text(base if exponent == -1 else base ** (-exponent))
            return f"(1/{denominator})"
        return f"({self.text(base)}^{self.text(exponent)})"

    def _derivative(self, expr: Any) -> str:
        if any(variable != self.t for variable in expr.variables):
            raise ValueError(f"`{expr}` is no derivative by {self.t}")
        text = self.text(expr.expr)
        for _ in expr.variables:
            text = f"der({text})"
        return text

    def _piecewise(self, expr: Any) -> str:
        pieces = list(expr.args)
        value, condition = pieces.pop()
        if condition != True:  # noqa: E712, SymPy's own truth
            raise ValueError(f"`{expr}` has no value for some arguments: end it with (value, True)")
        text = self.text(value)
        for value, condition in reversed(pieces):
            text = f"(if {self.text(condition)} then {self.text(value)} else {text})"
        return text

    def equation(self, equation: Any) -> str:
        """One equation; an expression stands for its being zero."""
        if type(equation).__name__ == "Equality":
            return f"{self.text(equation.lhs)} = {self.text(equation.rhs)}"
        return f"{self.text(equation)} = 0"


def _declarations(
    writer: _Writer, parameters: Mapping[Any, Any], start: Mapping[Any, float] | None
) -> list[str]:
    starts = dict(start or {})
    lines = [
        f"  parameter Real {writer.parameters[symbol]} = {float(value)!r};"
        for symbol, value in parameters.items()
    ]
    for unknown, name in writer.unknowns.items():
        value = starts.pop(unknown, None)
        begin = "" if value is None else f"(start = {float(value)!r})"
        lines.append(f"  Real {name}{begin};")
    rates = [
        f"  {writer.text(rate)} = {float(value)!r};"
        for rate, value in starts.items()
        if type(rate).__name__ == "Derivative"
    ]
    foreign = [key for key in starts if type(key).__name__ != "Derivative"]
    if foreign:
        raise ValueError(f"`{foreign[0]}` has a start value and is not an unknown")
    return lines + (["initial equation", *rates] if rates else [])


def _model(name: str, lines: list[str]) -> Model:
    text = "\n".join([f"model {_name(name)}", *lines, f"end {_name(name)};", ""])
    return Model.from_source(text, name=f"<{name} from sympy>")


def from_sympy(
    equations: Sequence[Any],
    unknowns: Sequence[Any],
    t: Any,
    parameters: Mapping[Any, float] | None = None,
    *,
    start: Mapping[Any, float] | None = None,
    name: str = "Model",
) -> Model:
    """A model of SymPy equations (`Eq`, or expressions that are zero) in functions of t.

    `start` gives start values of unknowns, and of derivatives, which then must hold.

    >>> import sympy, daelight
    >>> t, k = sympy.symbols("t k")
    >>> x, y = sympy.Function("x")(t), sympy.Function("y")(t)
    >>> m = daelight.from_sympy([x.diff(t) + k*y, y - x], [x, y], t, {k: 2.0}, start={x: 1.0})
    >>> run = m.solve((0, 1), t_eval=[1.0])
    >>> round(float(run["x"][0]), 9)
    0.135335283
    """
    values = dict(parameters or {})
    writer = _Writer(list(unknowns), t, values)
    lines = _declarations(writer, values, start)
    lines.append("equation")
    lines += [f"  {writer.equation(equation)};" for equation in equations]
    return _model(name, lines)


def lagrange(
    T: Any,
    V: Any,
    q: Sequence[Any],
    constraints: Sequence[Any] = (),
    forces: Sequence[Any] | None = None,
    *,
    t: Any = None,
    parameters: Mapping[Any, float] | None = None,
    start: Mapping[Any, float] | None = None,
    name: str = "Mechanism",
) -> Model:
    """The Euler-Lagrange equations of T - V in the coordinates q, with constraints that are zero and forces.

    Multipliers are named `z[1]`, `z[2]`, ... in the order of the constraints.

    >>> import sympy, daelight
    >>> t, L, g = sympy.symbols("t L g")
    >>> x, y = sympy.Function("x")(t), sympy.Function("y")(t)
    >>> m = daelight.lagrange((x.diff(t)**2 + y.diff(t)**2)/2, g*y, [x, y], [(x**2 + y**2 - L**2)/2],
    ...                       parameters={L: 1.0, g: 9.81}, start={x: 1.0, y: 0.0})
    >>> m.analyze().differentiation.index
    3
    """
    coordinates = list(q)
    if t is None:
        t = coordinates[0].args[0]
    values = dict(parameters or {})
    writer = _Writer(coordinates, t, values)
    lines = _declarations(writer, values, start)
    place = lines.index("initial equation") if "initial equation" in lines else len(lines)
    conditions = list(constraints)
    if conditions:
        lines.insert(place, f"  Real z[{len(conditions)}];")
    arguments = [
        writer.text(T),
        writer.text(V),
        "{" + ", ".join(writer.text(coordinate) for coordinate in coordinates) + "}",
    ]
    if conditions:
        texts = [writer.text(_zero(condition)) for condition in conditions]
        arguments += ["{" + ", ".join(texts) + "}", "z"]
    if forces is not None:
        arguments.append("F = {" + ", ".join(writer.text(force) for force in forces) + "}")
    lines += ["equation", "  lagrange(" + ",\n    ".join(arguments) + ");"]
    return _model(name, lines)


def _zero(condition: Any) -> Any:
    if type(condition).__name__ == "Equality":
        return condition.lhs - condition.rhs
    return condition

"""Models from SymPy."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import daelight

t = sympy.Symbol("t")
x, y, theta = (sympy.Function(name)(t) for name in ("x", "y", r"\theta"))
k, L, g, m = sympy.symbols("k L g m")


def test_equations_of_any_order() -> None:
    model = daelight.from_sympy(
        [sympy.Eq(x.diff(t, 2), -(k**2) * x), sympy.Eq(y, x.diff(t) + sympy.Rational(1, 2))],
        [x, y], t, {k: 2.0}, start={x: 1.0, x.diff(t): 0.0},
    )
    run = model.solve((0, 1), t_eval=[0.5, 1.0], rtol=1e-10)
    np.testing.assert_allclose(run["x"], np.cos([1.0, 2.0]), atol=1e-9)
    np.testing.assert_allclose(run["y"], 0.5 - 2 * np.sin([1.0, 2.0]), atol=1e-9)


EXPRESSIONS = [
    sympy.sin(x) * sympy.exp(-x) + sympy.sqrt(x + 2) - x**3 / 7 + sympy.pi,
    sympy.Piecewise((x, x < 1), (x**2, True)) + sympy.Abs(x - 3),
    sympy.atan2(x, 2) + sympy.log(x + 5) - sympy.tanh(x) ** 2 + 1 / (1 + x**2),
    sympy.Max(x, 2 * x, 1) - sympy.Min(x, -1) + sympy.sign(x) + x ** sympy.Rational(3, 2),
    -x / 3 - (x - 1) * (x + 1) + sympy.Float("1e-7") * x - 2 ** (-x),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_expressions_keep_their_value(expression: sympy.Expr) -> None:
    """y = f(x) along x = t, against SymPy's own numbers."""
    model = daelight.from_sympy([x.diff(t) - 1, y - expression], [x, y], t, start={x: 0.3})
    run = model.solve((0, 0.5), t_eval=[0.0, 0.45], method="taylor")
    for place, value in enumerate(run["x"]):
        assert run["y"][place] == pytest.approx(float(expression.subs(x, value)), rel=1e-10)


def test_a_pendulum_from_its_energies() -> None:
    T, V = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2, m * g * y
    model = daelight.lagrange(
        T, V, [x, y], [sympy.Eq(x**2 + y**2, L**2)],
        parameters={m: 1.0, L: 1.0, g: 9.81}, start={x: 1.0, y: 0.0},
    )
    assert model.unknowns[:3] == ["x", "y", "z[1]"]
    assert model.analyze().differentiation.index == 3
    angle = daelight.lagrange(
        m * L**2 * theta.diff(t) ** 2 / 2, -m * g * L * sympy.cos(theta), [theta],
        forces=[-k * theta.diff(t)],
        parameters={m: 1.0, L: 1.0, g: 9.81, k: 0.0}, start={theta: float(sympy.pi / 2), theta.diff(t): 0.0},
    )
    ours = model.solve((0, 1), t_eval=[1.0], rtol=1e-10)["x"][0]
    other = angle.solve((0, 1), t_eval=[1.0], rtol=1e-10).y[0, 0]
    assert ours == pytest.approx(np.sin(other), abs=1e-8)


def test_what_cannot_be_written_is_named() -> None:
    z = sympy.Symbol("z")
    with pytest.raises(ValueError, match="neither an unknown"):
        daelight.from_sympy([x.diff(t) - z], [x], t)
    with pytest.raises(ValueError, match="no counterpart"):
        daelight.from_sympy([x.diff(t) - sympy.gamma(x)], [x], t)
    with pytest.raises(ValueError, match="no function of t"):
        daelight.from_sympy([z], [z], t)
    with pytest.raises(ValueError, match="for some arguments"):
        daelight.from_sympy([x.diff(t) - sympy.Piecewise((1, x > 0))], [x], t)

"""Wrong arguments are refused by their name, with what they take and what they were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import daelight

SWING = daelight.example("pendulum")
PUSHED = daelight.Model.from_source(
    "model Cart input Real F; Real x(start = 0, fixed = true), v(start = 0, fixed = true);"
    " equation der(x) = v; der(v) = F; end Cart;"
)


def run() -> Any:
    return SWING.solve((0, 1))


def pushed(signal: Any) -> Any:
    return PUSHED.solve((0, 1), inputs={"F": signal})


# A call, and what its message holds: the argument, what it takes, what was given.
REFUSED: list[tuple[Callable[[], Any], list[str]]] = [
    (lambda: SWING.solve(4), ["`t_span`", "two times", "such as (0, 4)", "given 4"]),
    (lambda: SWING.solve((0,)), ["`t_span`", "two times", "given (0,)"]),
    (lambda: SWING.solve((0, 1, 2)), ["`t_span`", "given (0, 1, 2)"]),
    (lambda: SWING.solve(("a", "b")), ["`t_span`", "given ('a', 'b')"]),
    (lambda: SWING.solve("01"), ["`t_span`", "given '01'"]),
    (lambda: SWING.solve((0, float("inf"))), ["`t_span`", "given (0, inf)"]),
    (lambda: SWING.gradient("x", "L", 4), ["`t_span`", "given 4"]),
    (lambda: SWING.sweep({"L": [1]}, t_span=4), ["`t_span`", "given 4"]),
    (lambda: SWING.solve_many({"L": [1]}, t_span=4), ["`t_span`", "given 4"]),
    (lambda: SWING.solve((0, 1), t_eval=[0, 0.5, 2]), ["`t_eval`", "from 0 to 1", "t = 2.0 lies outside"]),
    (lambda: SWING.solve((0, 1), t_eval=[-1e-9]), ["`t_eval`", "t = -1e-09 lies outside"]),
    (lambda: SWING.solve((0, 1), t_eval=0.5), ["`t_eval`", "a list of times", "given 0.5"]),
    (lambda: SWING.solve((0, 1), t_eval=["a"]), ["`t_eval`", "a list of times", "given ['a']"]),
    (lambda: SWING.solve_many({"L": [1]}, t_span=(0, 1), t_eval=[2]), ["`t_eval`", "t = 2.0 lies outside"]),
    (lambda: pushed("sin(time)"), ['`inputs["F"]`', "a number, a function of time", "given 'sin(time)'"]),
    (lambda: pushed([0, 1, 2]), ['`inputs["F"]`', "a pair (times, values)", "given [0, 1, 2]"]),
    (lambda: pushed(lambda t: np.array([t, t])), ['`inputs["F"]`', "returns a finite number", "at t = 0", "array([0., 0.])"]),
    (lambda: pushed(lambda t: None), ['`inputs["F"]`', "returned None"]),
    (lambda: pushed(([0, 1, 2], [0, 1])), ['`inputs["F"]`', "as many values as times", "3 times and 2 values"]),
    (lambda: PUSHED.solve((0, 1), inputs=[0.0]), ["`inputs`", "signals by name", "given [0.0]"]),
    (lambda: SWING.gradient({"t": [0, 1], "x": [1, 2, 3]}, "L"), ['`loss["x"]`', "times, 2", "given 3"]),
    (lambda: SWING.gradient(3, "L"), ["`loss`", "an expression", "given 3"]),
    (lambda: SWING.feedforward("model.mo"), ["`forward`", "a model", "daelight.load", "given 'model.mo'"]),
    (lambda: SWING.sweep({"L": "abc"}), ['`grid["L"]`', "a list of finite numbers", "given 'abc'"]),
    (lambda: SWING.sweep([1, 2]), ["`grid`", "by name", "given [1, 2]"]),
    (lambda: SWING.sweep({"L": [1]}, 3), ["`measures`", "max:x", "given 3"]),
    (lambda: SWING.solve_many({"L": [1, 2], "g": [1]}), ["`points`", "one length", "L: 2, g: 1"]),
    (lambda: run()[0], ["`run[…]`", "the name of an unknown", 'run["x"]', "given 0"]),
    (lambda: run().plot(["x", "y"]), ["`plot`", "one by one", 'plot("x", "y")', "given ['x', 'y']"]),
    (lambda: run().point(5), ["`at`", "from 0 to 1", "given 5.0"]),
    (lambda: run().draw(0), ["`instants`", "1 or more", "given 0"]),
    (lambda: run().sol("a"), ["`t`", "a time or a list of times", "given 'a'"]),
    (lambda: SWING.with_parameters(L=None), ["`L`", "a finite number", "given None"]),
    (lambda: SWING.with_parameters(L=float("nan")), ["`L`", "a finite number", "given nan"]),
    (lambda: SWING.with_parameters("L=2"), ["`values`", "by name", "given 'L=2'"]),
    (lambda: SWING.solve((0, 1), args=(2,)), ["`args`", "by name", "given (2,)"]),
    (lambda: SWING.solve((0, 1), y0=[1, 2]), ["`y0`", "5 values", "x, y, vx, vy, lambda", "given 2"]),
    (lambda: SWING.solve((0, 1), y0={"x": "a"}), ['`y0["x"]`', "a finite number", "given 'a'"]),
    (lambda: SWING.analyze(point=[1, 2]), ["`point`", "values by name", "given [1, 2]"]),
    (lambda: SWING.solve((0, 1), events=["y < 0"]), ["`events`", "a function of time and values", "given ['y < 0']"]),
    (lambda: SWING.solve((0, 1), events=lambda t, y: y), ["`events`", "return a finite number"]),
    (lambda: SWING.solve((0, 1), method="RK45"), ["`method`", '"taylor"', "given 'RK45'"]),
    (lambda: SWING.solve((0, 1), max_steps=-1), ["`max_steps`", "0 or more", "given -1"]),
    (lambda: SWING.reduce("other"), ["`method`", '"dummy"', "given 'other'"]),
    (lambda: SWING.linearize(outputs=3), ["`outputs`", "a name or a list of names", "given 3"]),
    (lambda: SWING.with_equations(["x = 1"]), ["`equations`", "one by one", "given ['x = 1']"]),
    (lambda: daelight.Model.from_source("swing.mo"), ["`text`", 'load("swing.mo")']),
    (lambda: daelight.solve_dae(lambda t, y, yp: yp, 4, [0], [0]), ["`t_span`", "given 4"]),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_a_wrong_argument_is_named(call: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(ValueError) as raised:
        call()
    for word in words:
        assert word in str(raised.value), str(raised.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: run()["q"], "`q` is not an unknown; there are x, y, vx, vy, lambda"),
        (lambda: run()["lamda"], "did you mean `lambda`?"),
        (lambda: SWING.parameters["l"], "`l` is not a parameter; there are L, g"),
    ],
)
def test_a_name_that_does_not_exist_is_told_with_those_that_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(KeyError) as raised:
        call()
    assert words in raised.value.args[0]


def test_a_number_is_a_constant_input() -> None:
    found = PUSHED.solve((0, 2), inputs={"F": 3})
    assert found["x"][-1] == pytest.approx(6.0, abs=1e-9)
    assert PUSHED.solve((1, 1), inputs={"F": np.float64(3)}).success
    assert PUSHED.solve((0, 2), inputs={"F": np.array([[0.0, 2.0], [3.0, 3.0]])})["x"][-1] == pytest.approx(6.0, abs=1e-9)


def test_one_measure_may_stand_alone() -> None:
    assert SWING.sweep({"L": 2.0}, "dof")["dof"].tolist() == [2.0]


def test_times_behind_a_singularity_are_left_out() -> None:
    arm = daelight.example("robotic-arm")
    assert arm.solve((0, 2), t_eval=[0.0, 1.0, 1.9]).t.tolist() == [0.0, 1.0]


def test_pages_and_messages_advise_no_flags() -> None:
    arm = daelight.example("robotic-arm")
    for text in (str(arm.solve()), arm.solve().message, str(arm.analyze()), str(SWING.init()), str(SWING.linearize())):
        assert "--" not in text and "`daelight " not in text, text


def test_a_value_of_a_parameter_is_not_taken_from_an_unknown() -> None:
    with pytest.raises(daelight.ModelError) as raised:
        SWING.with_parameters(L="abc")
    (found,) = raised.value.diagnostics
    assert found.help == "give a number, such as L=1, or an expression of parameters"


def test_a_model_is_not_made_of_a_path() -> None:
    with pytest.raises(TypeError, match=r"made by load\(path\).* was given 'arm.mo'"):
        daelight.Model("arm.mo")  # type: ignore[arg-type]

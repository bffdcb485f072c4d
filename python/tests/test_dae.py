"""Residuals written in Python."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from problems import PROBLEMS, Floats, Problem, brenan, pendulum, robertson

from daelight import consistent_initial_conditions, example, solve_dae


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_known_solutions(problem: Problem, method: str) -> None:
    if method not in problem.methods:
        pytest.skip(f"{method} is for index 1")
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8):
        run = solve_dae(
            problem.fun, problem.span, problem.y0, problem.yp0, method=method, rtol=tolerance, atol=tolerance * 1e-4
        )
        assert run.success and run.status == 0, run.message
        assert run.t[0] == problem.span[0] and run.t[-1] == problem.span[1]
        errors.append(problem.error(run.y[:, -1]))
    assert errors[0] < 3e-2 and errors[1] < 1e-3 and errors[2] < 1e-5, errors
    assert errors[2] < errors[0]


def test_the_index_of_unknowns_is_found() -> None:
    start = [1.0, 0.0, 0.0, 0.0, 0.0]
    run = solve_dae(pendulum, (0, 1), start, [0.0, 0.0, 0.0, -9.81, 0.0], rtol=1e-8, atol=1e-8)
    assert run.success, run.message
    assert run.var_index == [1, 1, 1, 1, 2]
    same = example("pendulum").solve((0, 1), rtol=1e-12)
    assert run.y[0, -1] == pytest.approx(same["x"][-1], abs=1e-6)


def test_matrices_given_or_not() -> None:
    calls = 0

    def jac(t: float, y: Floats, yp: Floats) -> tuple[Floats, Floats]:
        nonlocal calls
        calls += 1
        return np.array([[1.0, -(1.0 + t)], [0.0, 1.0]]), np.array([[1.0, -t], [0.0, 0.0]])

    given = solve_dae(brenan, (0, 1), [1, 0], [-1, 1], rtol=1e-8, atol=1e-8, jac=jac)
    found = solve_dae(brenan, (0, 1), [1, 0], [-1, 1], rtol=1e-8, atol=1e-8)
    assert calls > 0 and given.nfev < found.nfev
    exact = [np.exp(-1.0) + np.sin(1.0), np.sin(1.0)]
    np.testing.assert_allclose(given.y[:, -1], exact, rtol=1e-7)
    np.testing.assert_allclose(found.y[:, -1], exact, rtol=1e-7)
    constant = (np.array([[1.0, -1.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))

    def linear(t: float, y: Floats, yp: Floats) -> Floats:
        values: Floats = constant[0] @ y + constant[1] @ yp - [0.0, np.sin(t)]
        return values

    run = solve_dae(linear, (0, 1), [0, 0], [0, 1], rtol=1e-8, atol=1e-8, jac=constant)
    assert run.y[1, -1] == pytest.approx(np.sin(1.0), rel=1e-7)


def test_a_pattern_saves_evaluations() -> None:
    n = 12

    def chain(t: float, y: Floats, yp: Floats) -> Floats:
        before = np.concatenate([[1.0], y[:-1]])
        values: Floats = yp - (before - y)
        return values

    pattern = np.eye(n) + np.eye(n, k=-1)
    start: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-8}
    full = solve_dae(chain, (0, 5), np.zeros(n), np.eye(n)[0], **start)
    less = solve_dae(chain, (0, 5), np.zeros(n), np.eye(n)[0], jac_sparsity=pattern, **start)
    assert less.nfev < full.nfev
    np.testing.assert_allclose(less.y[:, -1], full.y[:, -1], atol=1e-6)


def test_times_dense_output_and_backward_runs() -> None:
    times = np.linspace(0, 1, 11)
    run = solve_dae(brenan, (0, 1), [1, 0], [-1, 1], t_eval=times, dense_output=True, rtol=1e-8, atol=1e-8)
    assert run.t.tolist() == times.tolist() and run.y.shape == run.yp.shape == (2, 11)
    np.testing.assert_allclose(run.y[1], np.sin(times), atol=1e-6)
    np.testing.assert_allclose(run.yp[1], np.cos(times), atol=1e-4)
    assert run.sol is not None
    y, yp = run.sol(0.55)
    assert y[1] == pytest.approx(np.sin(0.55), abs=1e-6) and yp[1] == pytest.approx(np.cos(0.55), abs=1e-4)
    assert run.sol([0.1, 0.2])[0].shape == (2, 2)
    back = solve_dae(brenan, (1, 0), run.y[:, -1], run.yp[:, -1], rtol=1e-8, atol=1e-8)
    assert back.y[0, -1] == pytest.approx(1.0, abs=1e-5)


def test_events() -> None:
    def crossing(t: float, y: Floats, yp: Floats) -> float:
        return float(y[1] - 0.5)

    def falling(t: float, y: Floats, yp: Floats) -> float:
        return float(y[1])

    falling.terminal = True  # type: ignore[attr-defined]
    falling.direction = -1  # type: ignore[attr-defined]
    run = solve_dae(brenan, (0, 10), [1, 0], [-1, 1], events=[crossing, falling], rtol=1e-9, atol=1e-9)
    assert run.status == 1 and run.success and "event" in run.message
    assert run.t_events is not None and run.y_events is not None
    np.testing.assert_allclose(run.t_events[0], [np.pi / 6, 5 * np.pi / 6], atol=1e-7)
    np.testing.assert_allclose(run.t_events[1], [np.pi], atol=1e-7)
    assert run.t[-1] == run.t_events[1][0] and run.y_events[0].shape == (2, 2)


def test_exceptions_of_the_residual_come_through() -> None:
    def broken(t: float, y: Floats, yp: Floats) -> Floats:
        if t > 0.1:
            raise ZeroDivisionError("on purpose")
        return yp + y

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        solve_dae(broken, (0, 1), [1.0], [-1.0])
    with pytest.raises(ValueError, match="2 numbers where 1"):
        solve_dae(lambda t, y, yp: [0.0, 0.0], (0, 1), [1.0], [-1.0])
    with pytest.raises(NotImplementedError):
        solve_dae(robertson, (0, 1), [1j, 0, 0], [0, 0, 0])
    with pytest.raises(ValueError):
        solve_dae(brenan, (0, 1), [1, 0], [-1, 1], rtol=-1.0)
    with pytest.raises(ValueError, match="t_span"):
        solve_dae(brenan, (0, 1), [1, 0], [-1, 1], t_eval=[2.0])


def test_a_residual_without_values_is_a_failure() -> None:
    run = solve_dae(lambda t, y, yp: yp + np.where(t < 0.5, y, np.nan), (0, 1), [1.0], [-1.0])
    assert not run.success and run.status == -1 and run.message
    assert run.t[-1] <= 0.5


def test_arguments_are_passed_on() -> None:
    run = solve_dae(lambda t, y, yp, k: yp + k * y, (0, 1), [1.0], [-3.0], args=(3.0,), rtol=1e-8, atol=1e-8)
    assert run.y[0, -1] == pytest.approx(np.exp(-3.0), rel=1e-6)


def test_consistent_values() -> None:
    y, yp, rest = consistent_initial_conditions(robertson, 0.0, [1.0, 0.0, 0.1], [0.0, 0.0, 0.0], fixed_y0=[0, 1])
    np.testing.assert_allclose(y, [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(yp[:2], [-0.04, 0.04], atol=1e-12)
    assert np.abs(rest).max() < 1e-12


def test_ctrl_c_ends_a_run() -> None:
    code = (
        "import daelight, os, signal, threading, time\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "def f(t, y, yp):\n    time.sleep(1e-4); return yp - y * __import__('numpy').cos(1e3 * t)\n"
        "daelight.solve_dae(f, (0, 1e6), [1.0], [1.0], rtol=1e-8, atol=1e-8)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "KeyboardInterrupt" in done.stderr

"""F(t, y, y') = 0 with a residual written in Python, integrated by daelight's implicit methods.

Signatures and names are those of scipy_dae, so that scripts run with another import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import arguments
from ._daelight import Polynomials, integrate_residual

Floats = NDArray[np.float64]
Residual = Callable[..., Any]

# Steps after which a run is given up.
_MAX_STEPS = 10_000_000
# Part of the tolerance that the error estimates are given, so that errors at the end are not larger than those of
# scipy_dae at the same tolerance; tuned with python/bench/solve_dae.py.
_MARGIN = {"Radau": 2e-3, "BDF": 1e-2}
# Tolerances below this are not refined further: rounding would end runs of higher index.
_FINEST = 3e-12


class DaeSolution:
    """The solution between the steps: `sol(t)` gives values and derivatives."""

    def __init__(self, pieces: Polynomials) -> None:
        self._pieces = pieces
        self.ts = np.array(pieces.ts)
        self.t_min = float(self.ts.min())
        self.t_max = float(self.ts.max())

    def __call__(self, t: ArrayLike) -> tuple[Floats, Floats]:
        """y and y' at one time or at several."""
        times = np.asarray(t, dtype=float)
        y, yp = self._pieces.at(np.ascontiguousarray(np.atleast_1d(times)))
        return (y[:, 0], yp[:, 0]) if times.ndim == 0 else (y, yp)


@dataclass
class DaeResult:
    """What `solve_dae` gives; the names are scipy's.

    `var_index` is the index of each unknown that errors were weighted with.

    >>> from daelight import solve_dae
    >>> run = solve_dae(lambda t, y, yp: [yp[0] + y[0]], (0.0, 1.0), [1.0], [-1.0])
    >>> run.success, run.y.shape[0]
    (True, 1)
    """

    t: Floats
    y: Floats
    yp: Floats
    sol: DaeSolution | None
    t_events: list[Floats] | None
    y_events: list[Floats] | None
    yp_events: list[Floats] | None
    nfev: int
    njev: int
    nlu: int
    status: int
    message: str
    success: bool
    var_index: list[int]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def solve_dae(
    fun: Residual,
    t_span: Sequence[float],
    y0: ArrayLike,
    yp0: ArrayLike,
    method: str = "Radau",
    t_eval: ArrayLike | None = None,
    dense_output: bool = False,
    events: Any = None,
    var_index: Sequence[int] | None = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    *,
    rtol: float = 1e-3,
    atol: ArrayLike = 1e-6,
    jac: Any = None,
    jac_sparsity: Any = None,
    first_step: float | None = None,
    max_step: float = np.inf,
) -> DaeResult:
    """Integrates fun(t, y, y') = 0 from consistent y0, yp0.

    `method` is "Radau" (order 5, up to index 3) or "BDF" (orders 1 to 5, index 1). `jac` is a pair of matrices (dF/dy,
    dF/dy'), or a function that returns them; otherwise they are finite differences, in which `jac_sparsity` saves
    evaluations. `events` are functions event(t, y, y') with `terminal` and `direction` as in scipy. `var_index` gives the
    index of each unknown; by default it comes from the pattern of the equations near the start. `vectorized` is accepted
    and makes no difference.

    >>> import numpy as np
    >>> from daelight import solve_dae
    >>> def circle(t, y, yp):
    ...     return [yp[0] - y[1], y[0] ** 2 + y[1] ** 2 - 1.0]
    >>> run = solve_dae(circle, (0.0, 1.0), [0.0, 1.0], [1.0, 0.0], rtol=1e-8, atol=1e-8)
    >>> run.success, bool(abs(run.y[0, -1] - np.sin(1.0)) < 1e-7)
    (True, True)
    """
    if method not in ("Radau", "BDF"):
        raise ValueError('`method` is "Radau" or "BDF"')
    begin, end = arguments.span("t_span", t_span)
    y, yp = _real("y0", y0), _real("yp0", yp0)
    if y.shape != yp.shape:
        raise ValueError(f"y0 has {y.size} entries and yp0 has {yp.size}")
    n = y.size
    more = () if args is None else tuple(args)

    def bound(function: Residual) -> Residual:
        return _with_arguments(function, more)

    times = None
    if t_eval is not None:
        wanted = _real("t_eval", t_eval)
        if np.any(wanted < min(begin, end)) or np.any(wanted > max(begin, end)):
            raise ValueError("Values in `t_eval` are not within `t_span`.")
        steps = np.diff(wanted)
        if np.any(steps <= 0 if end > begin else steps >= 0):
            raise ValueError("Values in `t_eval` are not properly sorted.")
        times = wanted.tolist()
    rtol = float(rtol)
    if not 0.0 < rtol < 1.0:
        raise ValueError("`rtol` must be between 0 and 1.")
    absolute = np.atleast_1d(np.asarray(atol, dtype=float))
    inner = _inner_tolerance(method, rtol)
    functions = [] if events is None else list(events) if _is_list(events) else [events]
    watched = [
        (bound(event), _terminal(event), float(getattr(event, "direction", 0.0)))
        for event in functions
    ]
    points, pieces, found, counts, (status, message), indices = integrate_residual(
        bound(fun),
        (begin, end),
        y,
        yp,
        method,
        inner,
        (absolute * (inner / rtol)).tolist(),
        times,
        dense_output,
        _jacobian(jac, bound),
        _pattern(jac_sparsity, n),
        (first_step or _first_step(end - begin, y, yp, rtol, absolute), None if max_step == np.inf else float(max_step), _MAX_STEPS),
        _indices(var_index, method, n),
        watched,
    )
    has_events = events is not None
    return DaeResult(
        *points,
        sol=None if pieces is None else DaeSolution(pieces),
        t_events=[t for t, _, _ in found] if has_events else None,
        y_events=[values.T for _, values, _ in found] if has_events else None,
        yp_events=[values.T for _, _, values in found] if has_events else None,
        nfev=counts[0],
        njev=counts[1],
        nlu=counts[2],
        status=status,
        message=message,
        success=status >= 0,
        var_index=indices,
    )


def consistent_initial_conditions(
    fun: Residual,
    t0: float,
    y0: ArrayLike,
    yp0: ArrayLike,
    jac: Any = None,
    fixed_y0: Sequence[int] | None = None,
    fixed_yp0: Sequence[int] | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-8,
    newton_maxiter: int = 50,
    *args: Any,
) -> tuple[Floats, Floats, Floats]:
    """y and y' near the guesses with fun(t0, y, y') = 0, and the residual there.

    Components named by `fixed_y0` and `fixed_yp0` keep their values. The change is the smallest one of each Newton step
    that fits. Hidden constraints are not looked at: write equations of index 1, or use `Model.init`.

    >>> from daelight import consistent_initial_conditions
    >>> y, yp, rest = consistent_initial_conditions(
    ...     lambda t, y, yp: [yp[0] + y[1], y[0] - y[1]], 0.0, [1.0, 0.0], [0.0, 0.0], fixed_y0=[0])
    >>> y.tolist(), yp.tolist()[0], float(abs(rest).max())
    ([1.0, 1.0], -1.0, 0.0)
    """
    y, yp = _real("y0", y0).copy(), _real("yp0", yp0).copy()
    n = y.size
    keep = np.ones(2 * n, dtype=bool)
    keep[[int(place) for place in fixed_y0 or ()]] = False
    keep[[n + int(place) for place in fixed_yp0 or ()]] = False
    matrices = _jacobian(jac, lambda function: _with_arguments(function, tuple(args)))

    def residual(point: Floats) -> Floats:
        return np.asarray(fun(t0, point[:n], point[n:], *args), dtype=float)

    point = np.concatenate([y, yp])
    value = residual(point)
    for _ in range(newton_maxiter):
        if matrices is None:
            full = _differences(residual, point, value)
        else:
            parts: Any = matrices(t0, point[:n], point[n:])
            full = np.hstack([_dense(part) for part in parts])
        step = np.zeros(2 * n)
        step[keep] = np.linalg.lstsq(full[:, keep], -value, rcond=None)[0]
        point = point + step
        value = residual(point)
        if np.all(np.abs(step) <= atol + rtol * np.abs(point)):
            break
    if not np.all(np.abs(value) <= np.sqrt(atol) * (1.0 + np.abs(point).max())):
        raise RuntimeError("no consistent initial values were found near the guesses")
    return point[:n], point[n:], value


def _inner_tolerance(method: str, rtol: float) -> float:
    """The tolerance that the integrator is given.

    Radau makes 0.1 rtol^(2/3) of its tolerance, (9) of docs/theory/implicit.md, where scipy takes it as it is.
    """
    asked = min(rtol, (10.0 * rtol) ** 1.5) if method == "Radau" else rtol
    return max(_MARGIN[method] * asked, min(_FINEST, rtol))


def _first_step(span: float, y: Floats, yp: Floats, rtol: float, atol: Floats) -> float | None:
    """A first step within which no unknown moves far; the error test shortens it where needed."""
    if span == 0.0 or not np.all(atol > 0.0):
        return None
    fastest = float(np.max(np.abs(yp) / (np.abs(y) + atol / rtol), initial=0.0))
    step = min(1e-3 * abs(span), 0.1 * np.cbrt(rtol) / fastest if fastest > 0.0 else np.inf)
    return float(step)


def _differences(residual: Callable[[Floats], Floats], point: Floats, value: Floats) -> Floats:
    columns = np.empty((value.size, point.size))
    for place in range(point.size):
        moved = point.copy()
        moved[place] += 1.5e-8 * max(abs(moved[place]), 1.0)
        columns[:, place] = (residual(moved) - value) / (moved[place] - point[place])
    return columns


def _real(name: str, values: ArrayLike) -> Floats:
    found = np.asarray(values)
    if np.iscomplexobj(found):
        raise NotImplementedError(f"`{name}` is complex; write real and imaginary parts as two unknowns")
    found = np.ascontiguousarray(found, dtype=float)
    if found.ndim != 1:
        raise ValueError(f"`{name}` must be 1-dimensional.")
    return found


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _terminal(event: Any) -> int | None:
    """The number of zeros after which a run ends."""
    wanted = getattr(event, "terminal", False)
    return int(wanted) if wanted else None


def _dense(matrix: Any) -> Floats:
    if hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    return np.asarray(matrix, dtype=float)


def _with_arguments(function: Residual, arguments: tuple[Any, ...]) -> Residual:
    """The function of time, values and derivatives alone."""
    if not arguments:
        return function

    def bound(t: float, y: Floats, yp: Floats) -> Any:
        return function(t, y, yp, *arguments)

    return bound


def _jacobian(jac: Any, bound: Callable[[Residual], Residual]) -> Residual | None:
    if jac is None:
        return None
    if callable(jac):
        return bound(jac)
    pair = tuple(_dense(part) for part in jac)
    if len(pair) != 2:
        raise ValueError("`jac` is a pair of matrices (dF/dy, dF/dy')")

    def constant(t: float, y: Floats, yp: Floats) -> tuple[Floats, ...]:
        return pair

    return constant


def _pattern(sparsity: Any, n: int) -> list[bool] | None:
    """Entries column by column."""
    if sparsity is None:
        return None
    found = _dense(sparsity)
    if found.shape != (n, n):
        raise ValueError(f"`jac_sparsity` must have the shape ({n}, {n})")
    entries: list[bool] = (found.T != 0).ravel().tolist()
    return entries


def _indices(var_index: Sequence[int] | None, method: str, n: int) -> list[int] | None:
    if method == "BDF" and var_index is None:
        # The method treats all unknowns alike; one of higher index shows in its error test.
        return [1] * n
    return None if var_index is None else [int(index) for index in var_index]

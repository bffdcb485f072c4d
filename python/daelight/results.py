"""The result of a run, with scipy's names and daelight's own."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _daelight
from .documents import Report, Singularity
from .figure import Figure, curves

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]

_STATUS = {"success": 0, "singularity": 1, "failure": -1}
# Curves that a picture shows when nothing else is asked for.
_MOST_CURVES = 8


class Result:
    """How a run went and what it gave.

    ====================  =========================================================================
    `t`, `y`, `yp`        times, values and first derivatives (one row for each unknown)
    `sol`                 the solution between the times: `sol(t)`; None without `dense_output`
    `success`, `message`  whether the end was reached, and one sentence
    `status`              0 done, 1 ended at a singularity or a stopping condition, -1 failed
    `nfev`, `njev`, `nlu` evaluations of the equations, of their Jacobian, factorisations
    `t_events`            times at which `stop_when` ended the run; None without it
    `singularities`       singular points in the order they were met
    `residuals`           largest scaled residual of the equations and of each of their derivatives
    `result["x3"]`        the values of one unknown
    ====================  =========================================================================

    >>> import daelight
    >>> run = daelight.example("pendulum").solve((0, 1))
    >>> run.success, run.y.shape[0], run["x"].shape == run.t.shape
    (True, 5, True)
    """

    def __init__(self, run: _daelight.Run, dense_output: bool = True) -> None:
        self._run = run
        self._dense = dense_output

    @cached_property
    def t(self) -> Floats:
        """Times."""
        return self._run.t

    @cached_property
    def y(self) -> Floats:
        """Values at these times, one row for each unknown."""
        return self._run.y()

    @cached_property
    def yp(self) -> Floats:
        """First derivatives at these times, one row for each unknown."""
        return self._run.yp()

    @cached_property
    def names(self) -> list[str]:
        """Names of the unknowns, in the order of the rows."""
        return self._run.names

    @property
    def elapsed(self) -> float:
        """The seconds that the integration took."""
        return self._run.elapsed

    @property
    def sol(self) -> Solution | None:
        """The solution at any time of the run."""
        return Solution(self._run) if self._dense else None

    @cached_property
    def report(self) -> Report:
        """The document of `solve --json`."""
        return Report(json.loads(self._run.document()), self._run.page())

    @property
    def success(self) -> bool:
        """Whether the run did what it was asked for."""
        return bool(self.report["status"] == "success")

    @property
    def status(self) -> int:
        """0 done, 1 ended at a singularity or a stopping condition, -1 failed."""
        if self.report["reason"] == "stopped":
            return 1
        return _STATUS[self.report["status"]]

    @property
    def message(self) -> str:
        """Why the run ended."""
        return str(self.report["message"])

    @property
    def nfev(self) -> int:
        """Evaluations of the equations, expansions into series included."""
        counts = self.report["statistics"]
        return int(counts["residuals"] + counts["jets"])

    @property
    def njev(self) -> int:
        """Evaluations of the Jacobian."""
        return int(self.report["statistics"]["jacobians"])

    @property
    def nlu(self) -> int:
        """Factorisations."""
        return int(self.report["statistics"]["factorizations"])

    @property
    def t_events(self) -> list[Floats] | None:
        """Where the stopping condition was met."""
        stopped = self.report.get("stopped")
        return None if stopped is None else [np.array([stopped["time"]])]

    @cached_property
    def singularities(self) -> list[Singularity]:
        """Singular points in the order they were met."""
        return [Singularity(found) for found in self.report["singularities"]]

    @cached_property
    def residuals(self) -> Floats:
        """Largest scaled residual by level: position m is the m-th derivative of the equations."""
        return np.array(self.report["residuals"], dtype=float)

    def __getitem__(self, name: str) -> Floats:
        try:
            row = self.names.index(name)
        except ValueError:
            raise KeyError(f"`{name}` is no unknown; there are {', '.join(self.names)}") from None
        values: Floats = self.y[row]
        return values

    def __repr__(self) -> str:
        return f"<daelight.Result: {self.message}>"

    def __str__(self) -> str:
        return str(self.report)

    def to_dict(self) -> dict[str, Floats]:
        """Columns by name, the time first."""
        return {"time": self.t, **dict(zip(self.names, self.y))}

    def to_dataframe(self) -> pandas.DataFrame:
        """A pandas table with a column for each unknown."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def plot(
        self, *names: str, points: int = 400, together: bool = False, dark: bool = False
    ) -> Figure:
        """Curves of some unknowns over time, singularities marked; all of the first few by default."""
        chosen: Sequence[str] = names or self.names[:_MOST_CURVES]
        begin, end = self._run.span
        times = np.linspace(begin, end, points)
        values = self._run.at(times, False)
        rows: dict[str, Any] = {}
        for name in chosen:
            if name not in self.names:
                raise KeyError(f"`{name}` is no unknown; there are {', '.join(self.names)}")
            rows[name] = values[self.names.index(name)]
        marks = [(found.time, found.kind or "singular") for found in self.singularities]
        title = self._run.model
        return curves(title, times.tolist(), rows, marks, together=together, dark=dark)

    def _repr_html_(self) -> str:
        last = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{value}</td></tr>"
            for name, value in list(self.report["final"].to_dict().items())[:40]
        )
        singular = "".join(found._repr_html_() for found in self.singularities)
        picture = self.plot(points=200).svg if self.t.size > 1 else ""
        return (
            f"<p><b>{html.escape(self._run.model)}</b>: {html.escape(self.message)}</p>"
            f"{singular}{picture}"
            f"<details><summary>last values</summary><table>{last}</table></details>"
        )


class Solution:
    """The solution between the times of a run, from the integrator's own series.

    >>> import daelight
    >>> run = daelight.example("pendulum").solve((0, 1))
    >>> run.sol(0.5).shape, run.sol([0.25, 0.5]).shape
    ((5,), (5, 2))
    """

    def __init__(self, run: _daelight.Run) -> None:
        self._run = run
        self.t_min = min(run.span)
        self.t_max = max(run.span)

    def __call__(self, t: ArrayLike) -> Floats:
        """Values at one time or at several; NaN outside the run."""
        return self._at(t, False)

    def derivative(self, t: ArrayLike) -> Floats:
        """First derivatives at one time or at several; NaN outside the run."""
        return self._at(t, True)

    def _at(self, t: ArrayLike, derivative: bool) -> Floats:
        times = np.asarray(t, dtype=float)
        if times.ndim > 1:
            raise ValueError("`t` must be a number or a list of numbers")
        found = self._run.at(np.ascontiguousarray(np.atleast_1d(times)), derivative)
        values: Floats = found[:, 0] if times.ndim == 0 else found
        return values


def named_values(point: Mapping[str, float] | None) -> list[tuple[str, float]]:
    """Values by name as the compiled half takes them."""
    return [] if point is None else [(name, float(value)) for name, value in point.items()]

"""The result of a run, with scipy's names and daelight's own."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import animation, arguments
from ._daelight import Run as CompiledRun
from .documents import Mode, ModelEvent, RunReport, Singularity, folded, in_python
from .figure import Figure, curves

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

    from .model import Model

Floats = NDArray[np.float64]

_STATUS = {"success": 0, "singularity": 1, "failure": -1}
# Curves that a picture shows when nothing else is asked for, and those that a notebook shows without a click.
_MOST_CURVES = 8
_SHOWN_CURVES = 3


class Result:
    """How a run went and what it gave.

    ====================  =========================================================================
    `t`, `y`, `yp`        times, values and first derivatives (one row for each unknown)
    `sol`                 the solution between the times: `sol(t)`; None without `dense_output`
    `success`, `message`  whether the end was reached, and one sentence
    `status`              0 done, 1 ended at a singularity or a stopping condition, -1 failed
    `nfev`, `njev`, `nlu` evaluations of the equations, of their Jacobian, factorisations
    `t_events`            times at which the functions of `solve(events=…)` vanish, one array for each
    `y_events`            values at these times
    `events`, `modes`     what happened in a model with events, and the modes that it went through
    `singularities`       singular points in the order they were met
    `residuals`           largest scaled residual of the equations and of each of their derivatives
    `result["x3"]`        the values of one unknown; `result["p"]` of all elements of an array
    ====================  =========================================================================

    >>> import daelight
    >>> run = daelight.example("pendulum").solve((0, 1))
    >>> run.success, run.y.shape[0], run["x"].shape == run.t.shape
    (True, 5, True)
    >>> robot = daelight.example("delta-robot").solve()
    >>> robot["p"].shape == (3, robot.t.size)
    True
    """

    def __init__(
        self,
        run: CompiledRun,
        dense_output: bool = True,
        model: Model | None = None,
        events: list[tuple[Floats, Floats]] | None = None,
        ended_by_event: bool = False,
    ) -> None:
        self._ended_by_event = ended_by_event
        self._run = run
        self._dense = dense_output
        self._model = model
        self._events = events

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
    def report(self) -> RunReport:
        """The document of `solve --json`."""
        return RunReport(json.loads(self._run.document()), self._run.page())

    @property
    def success(self) -> bool:
        """Whether the run did what it was asked for."""
        return self.report.status == "success"

    @property
    def status(self) -> int:
        """0 done, 1 ended at a singularity or a stopping condition, -1 failed."""
        if self.report.reason == "stopped" or self._ended_by_event:
            return 1
        return _STATUS[self.report.status]

    @property
    def message(self) -> str:
        """Why the run ended."""
        return in_python(self.report.message)

    @property
    def warnings(self) -> list[str]:
        """What to know beside the numbers, in words.

        >>> import daelight
        >>> print(daelight.example("pendulum").solve(args={"L": 2.0}).warnings[0][:58])
        The start values are not consistent; the run starts from t
        """
        return [in_python(text) for text in self.report.warnings]

    @property
    def nfev(self) -> int:
        """Evaluations of the equations, expansions into series included."""
        counts = self.report.statistics
        return counts.residuals + counts.jets

    @property
    def njev(self) -> int:
        """Evaluations of the Jacobian."""
        return self.report.statistics.jacobians

    @property
    def nlu(self) -> int:
        """Factorisations."""
        return self.report.statistics.factorizations

    @property
    def t_events(self) -> list[Floats] | None:
        """Times of the events, or of the condition that ended the run."""
        if self._events is not None:
            return [times for times, _ in self._events]
        stopped = self.report.get("stopped")
        return None if stopped is None else [np.array([stopped["time"]])]

    @property
    def y_events(self) -> list[Floats] | None:
        """Values at the events: one row for each time."""
        if self._events is not None:
            return [values for _, values in self._events]
        times = self.t_events
        return None if times is None else [self._run.at(found, False).T for found in times]

    @cached_property
    def singularities(self) -> list[Singularity]:
        """Singular points in the order they were met."""
        return list(self.report.singularities)

    @cached_property
    def events(self) -> list[ModelEvent]:
        """What happened in a model with events, in its order; empty for other models.

        >>> import daelight
        >>> ball = daelight.Model.from_source('''model Ball
        ...   Real h(start = 1), v;
        ... equation
        ...   der(h) = v;
        ...   der(v) = -9.81;
        ...   when h < 0 then
        ...     reinit(v, -0.7*pre(v));
        ...   end when;
        ... end Ball;''')
        >>> run = ball.solve((0, 1))
        >>> [(round(event.time, 4), event.condition, event.line) for event in run.events]
        [(0.4515, 'h < 0', 6)]
        >>> [round(value, 4) for value in run.events[0].changed["v"]]
        [-4.4294, 3.1006]
        """
        found: list[Any] = self.report.get("events") or []
        return [ModelEvent({"impulses": {}, "energy_lost": None, **event.to_dict()}) for event in found]

    @cached_property
    def modes(self) -> list[Mode]:
        """The modes that a model with events went through; empty for other models."""
        found: list[Any] = self.report.get("modes") or []
        return [Mode(mode) for mode in found]

    @cached_property
    def residuals(self) -> Floats:
        """Largest scaled residual by level: position m is the m-th derivative of the equations."""
        return np.array(self.report.residuals, dtype=float)

    def _rows(self, name: str) -> list[int]:
        """The rows of an unknown, or of all elements of an array."""
        if name in self.names:
            return [self.names.index(name)]
        pattern = re.compile(re.escape(name) + r"\[[\d,\s]+\]")
        rows = [row for row, other in enumerate(self.names) if pattern.fullmatch(other)]
        if not rows:
            raise arguments.missing("an unknown", name, self.names)
        return rows

    def _shape(self, name: str) -> tuple[int, ...]:
        """The sizes of an array; empty for a scalar."""
        if name in self.names:
            return ()
        last = self.names[self._rows(name)[-1]]
        return tuple(int(size) for size in last[len(name) + 1 : -1].split(","))

    def __getitem__(self, name: str) -> Floats:
        arguments.text("run[…]", name, f'the name of an unknown, such as run["{self.names[0]}"]')
        values: Floats = self.y[self._rows(name)].reshape((*self._shape(name), self.t.size))
        return values

    def point(self, at: float | None = None) -> tuple[float, list[tuple[str, float]]]:
        """A time of the run, by default its end, and the names and values of the unknowns there.

        >>> import daelight
        >>> time, values = daelight.example("spring-mass").solve((0, 1)).point()
        >>> time, [name for name, _ in values]
        (1.0, ['x', 'der(x)'])
        """
        time = float(self.t[-1]) if at is None else arguments.number("at", at)
        first, last = sorted(self._run.span)
        if not first <= time <= last:
            raise arguments.refused("at", f"a time of the run, from {first:g} to {last:g}", time)
        values = self._run.at(np.array([time]), False)[:, 0]
        return time, list(zip(self.names, values.tolist()))

    @cached_property
    def arrays(self) -> list[str]:
        """Names of the unknowns, arrays as a whole."""
        return list(dict.fromkeys(re.sub(r"\[[\d,\s]+\]$", "", name) for name in self.names))

    def __repr__(self) -> str:
        return f"<daelight.Result: {self.message}>"

    def __str__(self) -> str:
        return str(self.report)

    def to_dict(self) -> dict[str, Floats]:
        """Columns by name, the time first.

        >>> import daelight
        >>> list(daelight.example("spring-mass").solve().to_dict())
        ['time', 'x', 'der(x)']
        """
        return {"time": self.t, **dict(zip(self.names, self.y))}

    def to_dataframe(self) -> pandas.DataFrame:
        """A pandas table with a column for each unknown.

        >>> import daelight
        >>> list(daelight.example("spring-mass").solve().to_dataframe().columns)
        ['time', 'x', 'der(x)']
        """
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_xarray(self) -> xarray.Dataset:
        """An xarray dataset over `time`; arrays keep their dimensions.

        >>> import daelight
        >>> data = daelight.example("delta-robot").solve().to_xarray()
        >>> data["p"].dims
        ('p_1', 'time')
        """
        import xarray

        variables: dict[str, tuple[list[str], Floats]] = {}
        for name in self.arrays:
            sizes = self._shape(name)
            dims = [f"{name}_{k + 1}" for k in range(len(sizes))]
            variables[name] = ([*dims, "time"], self[name])
        return xarray.Dataset(variables, coords={"time": self.t}, attrs={"model": self._run.model})

    @overload
    def plot(
        self, *names: str, ax: None = None, points: int = 400, together: bool = False, dark: bool = False
    ) -> Figure: ...
    @overload
    def plot(
        self, *names: str, ax: Axes, points: int = 400, together: bool = False, dark: bool = False
    ) -> Axes: ...
    def plot(
        self,
        *names: str,
        ax: Axes | None = None,
        points: int = 400,
        together: bool = False,
        dark: bool = False,
    ) -> Figure | Axes:
        """Curves of some unknowns over time, singularities marked; all of the first few by default.

        Without `ax` the picture is SVG and needs no further package. With `ax` the curves are drawn there by matplotlib:
        `run.plot("x", "y", ax=plt.gca())`. The name of an array stands for all its elements, which share a panel.

        >>> import daelight
        >>> daelight.example("pendulum").solve((0, 1)).plot("x", "y").svg.startswith("<svg")
        True
        """
        example = ", ".join(f'"{name}"' for name in self.names[:2])
        for name in names:
            arguments.text("plot", name, f"names one by one, such as plot({example})")
        chosen = names or tuple(self.names[:_MOST_CURVES])
        points = arguments.count("points", points, 2)
        panels = {name: [self.names[row] for row in self._rows(name)] for name in chosen}
        rows = [row for name in chosen for row in self._rows(name)]
        begin, end = self._run.span
        times, values = self._run.curve(np.linspace(begin, end, points).tolist())
        marks = [(found.time, found.kind or "singular") for found in self.singularities]
        if ax is not None:
            # matplotlib does not say what its methods take beside what is named.
            drawn: Any = ax
            for row in rows:
                drawn.plot(times, values[row], label=self.names[row])
            for time, kind in marks:
                drawn.axvline(time, color="0.6", linestyle=":", label=kind)
            drawn.set_xlabel("time")
            drawn.legend()
            return ax
        curves_by_name = {self.names[row]: values[row] for row in rows}
        title = self._run.model
        return curves(title, times.tolist(), curves_by_name, marks, together=together, dark=dark, panels=panels)

    def _frames(self, times: Floats) -> Sequence[animation.Frame]:
        found = self._model.core.frames(self._run, times.tolist()) if self._model is not None else None
        if found is None:
            raise ValueError(
                f"{self._run.model} has no drawing: add an annotation such as "
                "annotation(__daelight(draw = {{{0, 0}, {x, y}}})) to the model"
            )
        return found[0]

    def draw(self, instants: int = 9) -> Figure:
        """The mechanism at some instants of the run, the later the stronger; the model's annotation says how to draw it.

        >>> import daelight
        >>> daelight.example("pendulum").solve((0, 1)).draw().svg.count("<polyline")
        9
        """
        return animation.stills(self._frames(np.linspace(*self._run.span, arguments.count("instants", instants, 1))))

    def animate(self, seconds: float | None = None, frames: int = 120) -> Figure:
        """The mechanism in motion, in the time it takes or in `seconds`; SVG that moves by itself.

        >>> import daelight
        >>> film = daelight.example("pendulum").solve((0, 1)).animate()
        >>> "<animate" in film.svg
        True
        """
        begin, end = self._run.span
        duration = abs(end - begin) if seconds is None else arguments.seconds("seconds", seconds)
        times = np.linspace(begin, end, arguments.count("frames", frames, 2))
        return animation.film(self._frames(times), max(duration, 0.5))

    def _repr_html_(self) -> str:
        last = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{value:.8g}</td></tr>"
            for name, value in self.report.final.items()[:40]
        )
        singular = "".join(found.page() for found in self.singularities)
        picture = ""
        if self.t.size > 1:
            first, more = self.names[:_SHOWN_CURVES], self.names[_SHOWN_CURVES:_MOST_CURVES]
            picture = self.plot(*first, points=200).svg
            if more:
                picture += folded(f"more curves: {', '.join(more)}", self.plot(*more, points=200).svg)
        met = folded(f"singularities ({len(self.singularities)})", singular) if singular else ""
        return (
            f"<p><b>{html.escape(self._run.model)}</b>: {html.escape(self.message)}</p>"
            f"{met}{picture}{folded('last values', f'<table>{last}</table>')}"
        )


Event = Callable[[float, Floats], float]


def zeros(run: CompiledRun, event: Event) -> Floats:
    """Times of a run at which a function of time and values changes its sign, found on the solution itself."""
    times = run.t
    pieces: list[Floats] = [np.linspace(a, b, 9) for a, b in zip(times[:-1], times[1:])]
    fine = np.unique(np.concatenate(pieces or [times]))
    if times.size > 1 and times[-1] < times[0]:
        fine = fine[::-1]

    def value(time: float) -> float:
        found = event(time, run.at(np.array([time]), False)[:, 0])
        return arguments.number("events", found, "functions that return a finite number")

    signs = [value(time) for time in fine]
    found: list[float] = []
    for (a, left), (b, right) in zip(zip(fine, signs), zip(fine[1:], signs[1:])):
        if left == 0.0:
            found.append(float(a))
        elif left * right < 0.0:
            low, high = float(a), float(b)
            for _ in range(80):
                middle = 0.5 * (low + high)
                if (value(middle) < 0.0) == (left < 0.0):
                    low = middle
                else:
                    high = middle
            found.append(high)
    return np.array(found, dtype=float)


class Solution:
    """The solution between the times of a run, from the integrator's own series.

    >>> import daelight
    >>> run = daelight.example("pendulum").solve((0, 1))
    >>> run.sol(0.5).shape, run.sol([0.25, 0.5]).shape
    ((5,), (5, 2))
    """

    def __init__(self, run: CompiledRun) -> None:
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
        alone = arguments.real(t)
        times = arguments.numbers("t", t if alone is None else [alone], "a time or a list of times")
        found = self._run.at(times, derivative)
        values: Floats = found if alone is None else found[:, 0]
        return values

"""One model at many values of its parameters, on this machine or on a cluster.

Models travel as text, each process reads a model once, and results come back in order as columns. Any executor with
`submit` and futures with `result` serves: those of `concurrent.futures`, a Dask `Client`, or the module `ray`. Dask and Ray
run a chunk again when its worker is lost.

>>> import daelight
>>> found = daelight.example("pendulum").sweep({"L": [0.5, 1.0, 2.0]}, ["status", "final:y"], t_span=(0, 1))
>>> found["L"].tolist(), found["status"].tolist()
([0.5, 1.0, 2.0], ['success', 'success', 'success'])
"""

from __future__ import annotations

import functools
import html
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import arguments
from ._daelight import FAN_LEVELS
from .figure import Figure, fans
from .model import Model, rebuilt

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# Times of an ensemble where none are asked for.
_N_TIMES = 101

# Fans that are drawn where no unknowns are named.
_MOST_FANS = 4

# Most points that travel together.
_MOST_IN_CHUNK = 256

Recipe = tuple[str, str, str | None, tuple[str, ...], str | None, tuple[str, ...]]
Settings = tuple[tuple[float | None, float | None], float | None]
Cell = tuple[float | None, str | None]
Row = tuple[list[Cell], str]


class SweepResult(Mapping[str, NDArray[Any]]):
    """Columns by name: the parameters, then the measures. Missing numbers are NaN, missing words empty.

    `reasons` says for each point why something is missing or why its run did not succeed; it is empty where all is well.

    >>> import daelight
    >>> daelight.example("pendulum").sweep({"L": [1.0, 2.0]}, ["dof"])["dof"].tolist()
    [2.0, 2.0]
    """

    def __init__(self, columns: dict[str, NDArray[Any]], reasons: list[str]) -> None:
        self._columns = columns
        self.reasons = reasons

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise arguments.missing("a parameter or a measure of the sweep", name, self._columns)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.reasons)

    def equals(self, other: SweepResult) -> bool:
        """Whether every number and word is the same, bit for bit.

        >>> import daelight
        >>> found = daelight.example("pendulum").sweep({"L": [1.0, 2.0]}, ["dof"])
        >>> found.equals(found)
        True
        """
        return (
            list(self) == list(other)
            and self.reasons == other.reasons
            and all(self[name].tobytes() == other[name].tobytes() for name in self)
        )

    def to_dataframe(self) -> pandas.DataFrame:
        """A pandas table with a column `reason`.

        >>> import daelight
        >>> list(daelight.example("pendulum").sweep({"L": [1.0]}, ["dof"]).to_dataframe().columns)
        ['L', 'dof', 'reason']
        """
        import pandas

        return pandas.DataFrame({**self._columns, "reason": self.reasons})

    def __repr__(self) -> str:
        return f"<daelight.SweepResult: {self.n_points} points, {', '.join(self)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(_cell(column[place]))}</td>" for column in self.values())
            + "</tr>"
            for place in range(min(self.n_points, 20))
        )
        rest = f"<p>and {self.n_points - 20} more</p>" if self.n_points > 20 else ""
        return f"<table><tr>{head}</tr>{body}</table>{rest}"


class Ensemble:
    """Many runs of one model, as `Model.solve_many` gives them.

    `points` are the values of the parameters by name, `t` the times, `y` the values `[point, unknown, time]` (NaN where a run did not come so far), `names` the unknowns, `status` how each
    run ended and `reasons` why, empty where all is well. `ensemble["x"]` is one unknown, `[point, time]`. Notebooks show an ensemble as its fan.

    >>> import daelight
    >>> runs = daelight.example("pendulum").solve_many({"L": [0.5, 1.0, 2.0]}, t_eval=[0.0, 0.5])
    >>> runs["x"][:, 0].round(6).tolist(), runs.status.tolist()
    ([0.5, 1.0, 2.0], ['success', 'success', 'success'])
    """

    def __init__(
        self,
        model: str,
        points: dict[str, NDArray[Any]],
        t: NDArray[Any],
        y: NDArray[Any],
        names: list[str],
        status: list[str],
        reasons: list[str],
    ) -> None:
        self.model = model
        self.points = points
        self.t = t
        self.y = y
        self.names = names
        self.status: NDArray[Any] = np.array(status)
        self.reasons = reasons

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.names:
            raise arguments.missing("an unknown", name, self.names)
        return self.y[:, self.names.index(name), :]

    def bands(self, name: str, quantiles: ArrayLike = (0.05, 0.5, 0.95)) -> NDArray[Any]:
        """Quantiles of an unknown over the runs at each time, `[quantile, time]`; runs that had ended by then do not count.

        >>> import daelight
        >>> runs = daelight.example("pendulum").solve_many({"L": [0.5, 1.0, 2.0]}, t_eval=[0.0, 0.5])
        >>> runs.bands("x", [0.5])[:, 0].tolist()
        [1.0]
        """
        with warnings.catch_warnings():
            # Where no run came there is no quantile, which is NaN.
            warnings.simplefilter("ignore", RuntimeWarning)
            found: NDArray[Any] = np.nanquantile(self[name], np.asarray(quantiles, dtype=float), axis=0)
        return found

    @overload
    def plot(self, *names: str, ax: None = None, dark: bool = False) -> Figure: ...
    @overload
    def plot(self, *names: str, ax: Axes, dark: bool = False) -> Axes: ...
    def plot(self, *names: str, ax: Axes | None = None, dark: bool = False) -> Figure | Axes:
        """The fan of some unknowns over time, of the first few by default: half of the runs lie in the inner band, nine of ten in the outer one.

        Runs that had ended by a time do not count there. Without `ax` the picture is SVG and needs no further package; with `ax` it is drawn there
        by matplotlib.

        >>> import daelight
        >>> runs = daelight.example("pendulum").solve_many({"L": [0.5, 1.0, 2.0]}, t_span=(0, 1))
        >>> runs.plot("x").svg.startswith("<svg")
        True
        """
        example = ", ".join(f'"{name}"' for name in self.names[:2])
        for name in names:
            arguments.text("plot", name, f"names one by one, such as plot({example})")
        found = {name: self.bands(name, FAN_LEVELS) for name in names or self.names[:_MOST_FANS]}
        if ax is None:
            return fans(self.model, self.t.tolist(), {name: rows.T.tolist() for name, rows in found.items()}, dark=dark)
        # matplotlib does not say what its methods take beside what is named.
        drawn: Any = ax
        for name, (least, low, median, high, most) in found.items():
            (line,) = drawn.plot(self.t, median, label=name)
            drawn.fill_between(self.t, least, most, color=line.get_color(), alpha=0.25, linewidth=0)
            drawn.fill_between(self.t, low, high, color=line.get_color(), alpha=0.25, linewidth=0)
        drawn.set_xlabel("time")
        drawn.legend()
        return ax

    def _repr_html_(self) -> str:
        words, counts = np.unique(self.status, return_counts=True)
        ended = ", ".join(f"{count} {word or 'not begun'}" for word, count in zip(words, counts))
        first = next((reason for reason in self.reasons if reason), "")
        why = f"<br>The first that did not: {html.escape(first)}" if first else ""
        about = f"<p><b>{html.escape(self.model)}</b>, {len(self.reasons)} runs: {ended}.{why}</p>"
        return about + (self.plot().svg if self.names and self.reasons else "")

    def __repr__(self) -> str:
        return f"<daelight.Ensemble: {len(self.reasons)} runs, {len(self.t)} times, {', '.join(self.names)}>"


def solve_many(
    model: Model,
    points: Mapping[str, ArrayLike],
    t_span: tuple[float, float] | None,
    t_eval: ArrayLike | None,
    rtol: float | None,
    threads: int | None,
) -> Ensemble:
    """The runs of a model at many points; see `Model.solve_many`."""
    given = arguments.by_name("points", points, 'lists of values by name, such as {"k": [1.0, 2.0]}')
    columns = [_axis("points", name, values) for name, values in given.items()]
    if not columns or any(column.size != columns[0].size for column in columns):
        sizes = ", ".join(f"{name}: {column.size}" for name, column in zip(given, columns)) or "none"
        raise ValueError(f"`points` takes lists of values by name, all of one length; it was given {sizes}")
    rows = np.ascontiguousarray(np.stack(columns, axis=1))
    core = model.core
    first, last, _, _ = core.experiment
    span = arguments.optional_span("t_span", t_span)
    begin = span[0] if span[0] is not None else (first or 0.0)
    end = span[1] if span[1] is not None else (1.0 if last is None else last)
    times = np.linspace(begin, end, _N_TIMES)
    if t_eval is not None:
        times = arguments.times_within("t_eval", t_eval, (begin, end))
    tolerance, n_threads = arguments.optional_number("rtol", rtol), arguments.optional_count("threads", threads)
    values, names, status, reasons = core.solve_many(list(given), rows, times, span, tolerance, n_threads)
    y = values.reshape(len(rows), len(times), len(names)).transpose(0, 2, 1)
    return Ensemble(core.name, dict(zip(given, columns)), times, y, names, status, reasons)


def _cell(value: object) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def sweep(
    model: Model,
    grid: Mapping[str, ArrayLike] | Sequence[Mapping[str, float]],
    measures: str | Sequence[str] = ("status",),
    *,
    t_span: tuple[float, float] | None = None,
    rtol: float | None = None,
    executor: Any = None,
    chunk: int | None = None,
) -> SweepResult:
    """Measures a model at many points.

    `grid` maps parameters to lists of values, of which all combinations are taken, the last parameter fastest; or it is a
    list of points, each a mapping. `measures` are those of `daelight sweep`: "index", "dof", "singular-count",
    "first-singular-time", "sigma-min", "locus-zero", "final:EXPR", "max:EXPR", "min:EXPR",
    "max-abs:EXPR" and "status". Without an `executor` the
    points are shared out to the processors of this machine. `chunk` is the number of points that travel together.
    """
    names, rows = _points(grid)
    measures = arguments.names("measures", measures, 'measures by name, such as ["max:x", "status"]')
    core = model.core
    class_name, settings, stop_when, free = core.recipe
    recipe: Recipe = (core.text, core.file, class_name, tuple(settings), stop_when, tuple(free))
    asked: Settings = (arguments.optional_span("t_span", t_span), arguments.optional_number("rtol", rtol))
    found: list[Row]
    if executor is None:
        found = _measured(model, names, rows, tuple(measures), asked, None)
    else:
        size = chunk or max(1, min(_MOST_IN_CHUNK, -(-len(rows) // 16)))
        chunks = [rows[at : at + size] for at in range(0, len(rows), size)]
        work = [(recipe, names, part, tuple(measures), asked) for part in chunks]
        found = list(itertools.chain.from_iterable(_run(work, executor)))
    columns: dict[str, NDArray[Any]] = {
        name: np.array([row[place] for row in rows], dtype=float)
        for place, name in enumerate(names)
    }
    for place, measure in enumerate(measures):
        columns[measure] = _column([cells[place] for cells, _ in found], measure)
    return SweepResult(columns, [reason for _, reason in found])


def _points(
    grid: Mapping[str, ArrayLike] | Sequence[Mapping[str, float]],
) -> tuple[list[str], list[list[float]]]:
    if isinstance(grid, Mapping):
        names = list(grid)
        axes = [_axis("grid", name, values).tolist() for name, values in grid.items()]
        return names, [list(point) for point in itertools.product(*axes)]
    if not arguments.is_sequence(grid) or not all(isinstance(point, Mapping) for point in grid):
        raise arguments.refused("grid", 'lists of values by name, such as {"k": [1.0, 2.0]}, or a list of points', grid)
    names = list(grid[0]) if grid else []
    for point in grid:
        if list(point) != names:
            raise ValueError(f"`grid` takes points that all give values to {', '.join(names)}, in this order; it was given {point}")
    return names, [[value for _, value in arguments.named_values("grid", point)] for point in grid]


def _axis(argument: str, name: str, values: ArrayLike) -> NDArray[Any]:
    """The values of a parameter, of which one may stand alone."""
    alone = arguments.real(values)
    return arguments.numbers(f'{argument}["{name}"]', values if alone is None else [alone])


def _column(cells: list[Cell], measure: str) -> NDArray[Any]:
    if measure == "status":
        return np.array([word or "" for _, word in cells], dtype="U11")
    return np.array([np.nan if number is None else number for number, _ in cells], dtype=float)


def _run(work: list[tuple[Any, ...]], executor: Any) -> Iterator[list[Row]]:
    """Chunks in their order, by whoever does the work."""
    if getattr(executor, "__name__", "") == "ray":
        task = executor.remote(measure_chunk)
        yield from executor.get([task.remote(*part) for part in work])
    else:
        futures = [executor.submit(measure_chunk, *part) for part in work]
        gather = getattr(executor, "gather", None)
        if gather is not None:
            yield from gather(futures)
        else:
            yield from (future.result() for future in futures)


@functools.lru_cache(maxsize=8)
def _model(recipe: Recipe) -> Model:
    """The model of a recipe, read once in each process."""
    text, file, class_name, settings, stop_when, free = recipe
    return rebuilt(text, file, class_name, list(settings), stop_when, list(free))


def measure_chunk(
    recipe: Recipe,
    names: list[str],
    rows: list[list[float]],
    measures: tuple[str, ...],
    settings: Settings,
) -> list[Row]:
    """Measures some points, one after the other; this is what executors run."""
    return _measured(_model(recipe), names, rows, measures, settings, 1)


def _measured(
    model: Model,
    names: list[str],
    rows: list[list[float]],
    measures: tuple[str, ...],
    settings: Settings,
    n_threads: int | None,
) -> list[Row]:
    (begin, end), rtol = settings
    return model.core.sweep(names, rows, list(measures), begin, end, rtol, n_threads)

"""Models: where they come from, and what can be asked about them."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from . import arguments
from ._daelight import Model as CompiledModel
from ._daelight import Run as CompiledRun
from ._daelight import built_in_models, write_whole
from ._daelight import linearize as compiled_linearize
from .documents import CheckReport, Configurations, FeedforwardReport, Passport, Start, folded
from .errors import SingularityError
from .figure import Figure, curves
from .linear import Linearization, linearization
from .results import Event, Floats, Result, zeros

if TYPE_CHECKING:
    from .sweep import Ensemble, SweepResult

Value = float | int | bool | str | Sequence[Any]
Signal = float | Callable[[float], float] | tuple[ArrayLike, ArrayLike]

# Equations that a notebook shows, and those that it shows without a click.
_MOST_EQUATIONS = 40
_SHOWN_EQUATIONS = 8
_SHOWN_LENGTH = 100
# Samples of an input that is given as a function.
_SAMPLES = 2001


def load(path: str | os.PathLike[str], model: str | None = None) -> Model:
    """Reads a Modelica file; `model` chooses one of several in it.

    >>> import daelight, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "decay.mo"
    >>> _ = path.write_text("model Decay Real x(start = 1); equation der(x) = -x; end Decay;")
    >>> daelight.load(path).unknowns
    ['x']
    """
    text = os.fspath(path)
    if os.sep not in text and not text.endswith(".mo"):
        if "." in text and not os.path.exists(text):
            raise ValueError(f'there is no file `{text}`; example("{text}") takes classes of libraries')
        # A bare name would be looked for in the library first.
        text = os.path.join(".", text)
    return Model(CompiledModel.load(text, model))


def example(name: str) -> Model:
    """A built-in model.

    >>> import daelight
    >>> daelight.example("robotic-arm").name
    'RoboticArm'
    """
    arguments.text("name", name, 'the name of a built-in model, such as "pendulum"')
    if os.sep in name or name.endswith(".mo") or name == "-":
        raise ValueError(f"`{name}` is not the name of a built-in model; load() reads files")
    return Model(CompiledModel.load(name))


def examples() -> dict[str, str]:
    """Names and descriptions of the built-in models.

    >>> import daelight
    >>> daelight.examples()["pendulum"]
    'Planar pendulum in Cartesian coordinates (index 3)'
    """
    return dict(built_in_models())


class Parameters(Mapping[str, float]):
    """The parameters of a model and their values."""

    def __init__(self, values: Sequence[tuple[str, float]]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            raise arguments.missing("a parameter", name, self._values)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Parameters({self._values!r})"


@dataclass(frozen=True)
class Gradient:
    """A number that a run leads to, and its derivatives; see `Model.gradient`.

    >>> import daelight
    >>> text = "model Line parameter Real a = 2, b = 3; Real x; equation x = a*time + b; end Line;"
    >>> round(daelight.Model.from_source(text).gradient("x", ["a"], (0, 4)).value, 6)
    11.0
    """

    value: float
    """The number."""
    gradient: dict[str, float]
    """Its derivative by each parameter, and by start values as `x.start`."""
    warnings: list[str]
    """What to know beside the numbers."""

    @property
    def array(self) -> Floats:
        """The derivatives in the order in which they were asked for.

        >>> import daelight
        >>> text = "model Line parameter Real a = 2, b = 3; Real x; equation x = a*time + b; end Line;"
        >>> daelight.Model.from_source(text).gradient("x", ["a", "b"], (0, 4)).array.round(6).tolist()
        [4.0, 1.0]
        """
        return np.array(list(self.gradient.values()), dtype=float)


class Model:
    """A model with its parameters. It never changes; `with_parameters` makes another one.

    >>> import daelight
    >>> text = "model Decay parameter Real k = 2; Real x(start = 1); equation der(x) = -k*x; end Decay;"
    >>> decay = daelight.Model.from_source(text)
    >>> decay.parameters["k"], decay.with_parameters(k=3).parameters["k"]
    (2.0, 3.0)
    >>> run = decay.solve((0, 1), t_eval=[0, 1])
    >>> round(float(run["x"][-1]), 12)
    0.135335283237
    """

    def __init__(self, core: CompiledModel) -> None:
        given = cast("object", core)
        if not isinstance(given, CompiledModel):
            raise TypeError(
                "a Model is made by load(path), example(name) or Model.from_source(text);"
                f" Model() was given {given!r:.60}"
            )
        self.core = core
        """The compiled half; what it offers changes from version to version."""

    @classmethod
    def from_source(
        cls, text: str, *, name: str = "<text>", model: str | None = None
    ) -> Model:
        """Reads Modelica text; messages call it `name`, and `model` chooses one of several in it.

        >>> import daelight
        >>> daelight.Model.from_source("model Still Real x; equation x = 1; end Still;").unknowns
        ['x']
        """
        arguments.text("text", text, "the text of a model")
        if text.endswith(".mo"):
            raise arguments.refused("text", f'the text of a model, and load("{text}") reads a file', text)
        return cls(CompiledModel.from_source(text, name, model))

    def __reduce__(self) -> tuple[Any, ...]:
        return (rebuilt, (self.core.text, self.core.file, *self.core.recipe))

    @property
    def name(self) -> str:
        """Its name."""
        return self.core.name

    @property
    def description(self) -> str:
        """Its comment."""
        return self.core.comment

    @property
    def source(self) -> str:
        """Its text, before any change of parameters."""
        return self.core.text

    @property
    def unknowns(self) -> list[str]:
        """Names of the unknowns, in the order of the model."""
        return self.core.unknowns

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs: signals that are known."""
        return self.core.inputs

    @property
    def equations(self) -> list[str]:
        """The equations as they are written."""
        return self.core.equations

    @property
    def parameters(self) -> Parameters:
        """Names and values of the parameters, array elements as `a[3]`."""
        return Parameters(self.core.parameters)

    def with_parameters(
        self, values: Mapping[str, Value] | None = None, /, **more: Value
    ) -> Model:
        """The same model with other values of parameters.

        Names that are no Python names go into the mapping: `m.with_parameters({"a[3]": 0.02}, l2=0.5)`.

        >>> import daelight
        >>> daelight.example("pendulum").with_parameters(L=2).parameters["L"]
        2.0
        """
        given = arguments.settings("values", values) + arguments.settings("values", more)
        return Model(self.core.with_parameters(given))

    def with_equations(self, *equations: str) -> Model:
        """The same model with more equations, each `x = expression`: for what it leaves open.

        >>> import daelight
        >>> linkage = daelight.example("four-bar").with_equations("q[1] = time")
        >>> linkage.check().diagnostics
        []
        """
        for equation in equations:
            arguments.text("equations", equation, 'texts one by one, such as with_equations("q = time")')
        return Model(self.core.with_parameters([], None, list(equations)))

    def check(self) -> CheckReport:
        """Warnings about the text, about units that do not match, and about parts with too many or too few equations.

        >>> import daelight
        >>> daelight.example("pendulum").check().ok
        True
        """
        return CheckReport(json.loads(self.core.check()))

    def derive(self, *, scalar: bool = False, base: bool = False) -> str:
        """Flat Modelica, Lagrangians expanded; `scalar` writes arrays out, too, `base` writes Base Modelica.

        >>> import daelight
        >>> "motion of x" in daelight.example("spring-mass").derive()
        True
        """
        return self.core.derive(scalar, base)

    def analyze(
        self,
        at: float | None = None,
        *,
        point: Mapping[str, float] | None = None,
        interval: tuple[float, float] | None = None,
        projectors: bool = False,
        eigenvalues: bool = False,
        budget: float = 60.0,
    ) -> Passport:
        """What kind of DAE it is, at the consistent point closest to `point` or to the start values.

        >>> import daelight
        >>> passport = daelight.example("pendulum").analyze()
        >>> passport.differentiation.index, passport.structural.dof, passport.verdict
        (3, 2, 'regular')
        """
        between = None if interval is None else arguments.span("interval", interval)
        place = (arguments.optional_number("at", at), arguments.named_values("point", point))
        text, page = self.core.analyze(*place, between, projectors, eigenvalues, arguments.seconds("budget", budget))
        return Passport(json.loads(text), page)

    def init(
        self,
        at: float | None = None,
        *,
        point: Mapping[str, float] | None = None,
        order: int = 1,
        all: bool = False,
        nearest_regular: bool = False,
        budget: float = 60.0,
    ) -> Start:
        """Consistent initial values closest to the start values or to `point`.

        >>> import daelight
        >>> start = daelight.example("pendulum").init()
        >>> start.status, start.n_free
        ('success', 0)
        """
        place = (arguments.optional_number("at", at), arguments.named_values("point", point))
        highest = arguments.count("order", order)
        text, page = self.core.init(*place, highest, all, nearest_regular, arguments.seconds("budget", budget))
        return Start(json.loads(text), page)

    def linearize(
        self,
        at: float | None = None,
        *,
        inputs: str | Sequence[str] | None = None,
        outputs: str | Sequence[str] | None = None,
        point: Mapping[str, float] | Result | None = None,
        rest: bool = False,
        budget: float | None = None,
    ) -> Linearization:
        """The linear model at a point, at any index: A, B, C, D, poles, zeros, and what is improper.

        `inputs` are names of inputs, by default all; `outputs` are names of unknowns, by default those declared `output`.
        The point is the consistent one closest to `point`, or to the start values, at the time `at`. A run as `point` gives its
        values at `at`, or at its end. `rest=True` goes to the point at rest nearby.

        >>> import daelight
        >>> text = '''model Crane "A trolley with a load on a rod"
        ...   input Real u "force";
        ...   output Real x(start = 0, fixed = true);
        ...   Real v(start = 0), px, py(start = -1), vx, vy, f;
        ... equation
        ...   der(x) = v;  der(px) = vx;  der(py) = vy;
        ...   4*der(v) = u - f*(x - px);
        ...   der(vx) = f*(x - px);  der(vy) = -f*py - 10;
        ...   (px - x)^2 + py^2 = 1;
        ... end Crane;'''
        >>> crane = daelight.Model.from_source(text)
        >>> found = crane.linearize(outputs=["x", "px"])
        >>> len(found.states), found.B.shape, found.C.shape
        (4, (4, 1), (2, 4))
        >>> sorted(abs(found.poles).round(6).tolist())
        [0.0, 0.0, 3.535534, 3.535534]
        >>> run = crane.solve((0, 1))
        >>> crane.linearize(0.5, point=run).time
        0.5
        """

        at = arguments.optional_number("at", at)
        if isinstance(point, Result):
            at, values = point.point(at)
        else:
            values = arguments.named_values("point", point)
        asked = (at, values, rest, None if budget is None else arguments.seconds("budget", budget))
        driven = arguments.names("inputs", inputs or ())
        watched = arguments.names("outputs", outputs or ())
        return linearization(*compiled_linearize(self.core, driven, watched, asked))

    def gradient(
        self,
        loss: str | Mapping[str, ArrayLike],
        parameters: str | Sequence[str] | None = None,
        t_span: tuple[float, float] | None = None,
        *,
        rtol: float | None = None,
        args: Mapping[str, Value] | None = None,
    ) -> Gradient:
        """The derivatives of one number by many parameters, by the adjoint of the run.

        The loss is an expression of the values at the end such as `"x^2 + y"`, an integral over the run such as
        `"integral(x^2)"`, or samples: a mapping with times `"t"` and a column for each unknown that was measured, whose squared
        distances are added up (NaN where nothing was measured). `parameters` is a name or names of parameters, and of unknowns
        for their start values; by default all parameters. The cost is that of a few runs, however many there are; a forward
        derivative along one direction checks the result.

        >>> import daelight
        >>> text = "model Decay parameter Real k = 2; Real x(start = 1, fixed = true); equation der(x) = -k*x; end Decay;"
        >>> found = daelight.Model.from_source(text).gradient("x", ["k", "x"], (0, 1))
        >>> round(found.value, 4), {name: round(value, 4) for name, value in found.gradient.items()}
        (0.1353, {'k': -0.1353, 'x.start': 0.1353})
        """
        model = self if args is None else Model(self.core.with_parameters(arguments.settings("args", args)))
        start, stop = arguments.optional_span("t_span", t_span)
        rtol = arguments.optional_number("rtol", rtol)
        names = None if parameters is None else arguments.names("parameters", parameters)
        if isinstance(loss, str):
            value, pairs, warnings = model.core.gradient(loss, [], names, start, stop, rtol)
        else:
            times, columns = arguments.samples(loss)
            samples = [
                (float(time), name, float(sample))
                for name, column in columns.items()
                for time, sample in zip(times, column, strict=True)
                if not np.isnan(sample)
            ]
            if stop is None:
                stop = float(times.max())
            value, pairs, warnings = model.core.gradient(None, samples, names, start, stop, rtol)
        return Gradient(value, dict(pairs), warnings)

    def reduce(
        self,
        method: Literal["dummy", "strangeness", "minimal"] = "dummy",
        form: Literal["implicit", "semi-explicit", "explicit"] = "implicit",
        *,
        at: float | None = None,
        budget: float = 60.0,
    ) -> Model:
        """An equivalent model of index 1 or 0.

        >>> import daelight
        >>> daelight.example("pendulum").reduce().analyze().differentiation.index
        1
        """
        arguments.one_of("method", method, ("dummy", "strangeness", "minimal"))
        arguments.one_of("form", form, ("implicit", "semi-explicit", "explicit"))
        text = self.core.reduce(method, form, arguments.optional_number("at", at), arguments.seconds("budget", budget))
        return Model.from_source(text, name=f"{self.core.file} reduced")

    def solve(
        self,
        t_span: tuple[float, float] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        method: Literal["auto", "taylor", "radau", "bdf"] = "auto",
        t_eval: ArrayLike | None = None,
        dense_output: bool = True,
        on_singularity: Literal["stop", "continue", "raise"] = "stop",
        on_zeno: Literal["stop", "rest"] = "stop",
        point: Mapping[str, float] | None = None,
        order: int | None = None,
        max_steps: int | None = None,
        budget: float | None = None,
        stop_when: str | None = None,
        events: str | Event | Sequence[Event] | None = None,
        args: Mapping[str, Value] | None = None,
        y0: Mapping[str, float] | ArrayLike | None = None,
        inputs: Mapping[str, Signal] | None = None,
    ) -> Result:
        """Integrates the model at any index.

        What is left out comes from the model's experiment. `t_eval` chooses the times of the result, by default the steps; those
        behind a point where the run ends early are left out.
        `on_singularity="continue"` passes removable singularities, `"raise"` raises `SingularityError` at one that ends
        the run.

        A model with events has them in `run.events`, the modes that it went through in `run.modes`, and its discrete variables
        beside the unknowns. At an event `run.t` has the time twice, with the values before and behind it; `t_eval` and `sol` give
        those behind. `on_zeno="rest"` goes on at rest where events accumulate.

        - `y0` are start values: by name, or a list in the order of `unknowns`. They are guesses, as in the model.
        - `args` are values of parameters, as for `with_parameters`.
        - `inputs` are known signals: numbers, functions of time, or times and values through which a smooth spline is laid.
        - `events` is a condition such as `"y < -0.5"` that ends the run, or functions of time and values as in scipy:
          their zeros are in `t_events` and `y_events`, and one with `terminal = True` ends the run.

        >>> import daelight
        >>> swing = daelight.example("pendulum")
        >>> def lowest(t, y):
        ...     return y[swing.unknowns.index("x")]
        >>> run = swing.solve((0, 2), events=lowest, args={"L": 2.0})
        >>> [round(float(t), 4) for t in run.t_events[0]]
        [0.8372]
        >>> daelight.example("e1-forward").solve((0, 0.1), inputs={"u": lambda t: 10.0 * t}).success
        True

        >>> import daelight
        >>> run = daelight.example("robotic-arm").solve(on_singularity="continue")
        >>> [found.nature for found in run.singularities][0]
        'removable'
        """
        arguments.one_of("on_zeno", on_zeno, ("stop", "rest"))
        arguments.one_of("on_singularity", on_singularity, ("stop", "continue", "raise"))
        arguments.one_of("method", method, ("auto", "taylor", "radau", "bdf"))
        begin, end = arguments.optional_span("t_span", t_span)
        model = self if args is None else Model(self.core.with_parameters(arguments.settings("args", args)))
        if isinstance(events, str):
            if stop_when is not None:
                raise ValueError("give the condition that ends a run once: as `events` or as `stop_when`")
            stop_when, events = events, None
        core = model.core
        if stop_when is not None:
            core = core.with_parameters([], stop_when)
        start = {**model._start(y0), **dict(arguments.named_values("point", point))}
        first, last, _, _ = core.experiment
        span = (
            begin if begin is not None else (first or 0.0),
            end if end is not None else (1.0 if last is None else last),
        )
        times = None if t_eval is None else arguments.times_within("t_eval", t_eval, span)
        driven = arguments.by_name("inputs", inputs, 'signals by name, such as {"u": 1.0} or {"u": math.sin}')
        signals = [arguments.signal(name, signal, span, _SAMPLES) for name, signal in driven.items()]
        tolerance = arguments.optional_number("rtol", rtol)
        highest, steps = arguments.optional_count("order", order), arguments.optional_count("max_steps", max_steps)
        seconds = None if budget is None else arguments.seconds("budget", budget)

        def integrate(until: float | None) -> CompiledRun:
            return core.solve(
                begin,
                until,
                tolerance,
                atol,
                method,
                on_singularity == "continue",
                highest,
                steps,
                seconds,
                list(start.items()),
                times,
                signals,
                on_zeno == "rest",
            )

        run = integrate(end)
        found, ended = None, False
        if events is not None:
            wanted = _functions(events)
            run, found, ended = _with_events(run, wanted, integrate)
        result = Result(run, dense_output, model, found, ended)
        if on_singularity == "raise" and result.report.status == "singularity":
            met = result.singularities[-1] if result.singularities else None
            raise SingularityError(str(result), [], met, result.report)
        return result

    def _start(self, y0: Mapping[str, float] | ArrayLike | None) -> dict[str, float]:
        if y0 is None:
            return {}
        if isinstance(y0, Mapping):
            return dict(arguments.named_values("y0", y0))
        values = arguments.numbers("y0", y0, "start values by name, or a list in the order of `unknowns`")
        if values.size != len(self.unknowns):
            raise ValueError(
                f"`y0` takes {len(self.unknowns)} values, one for each of {', '.join(self.unknowns)}; it was given {values.size}"
            )
        return dict(zip(self.unknowns, values.tolist()))

    def singular(
        self,
        *,
        parameters: Sequence[str] | Literal["all"] | None = None,
        locked: str | Sequence[str] = (),
        curves: bool = False,
        time_budget: float = 60.0,
    ) -> Configurations:
        """Singular configurations of a mechanism before any run, by exact algebra.

        `parameters` stay symbols, `"all"` of them or some; `locked` coordinates are driven from outside. With one or
        two `parameters`, `curves` counts real configurations on the curves between regions too, which takes longer.

        >>> import daelight
        >>> found = daelight.example("four-bar").singular(parameters="all")
        >>> found.verdict, found.cases[0].text
        ('proved', 'q[1], q[2], q[3] aligned')
        """
        symbols = None if parameters is None else arguments.names("parameters", parameters)
        driven = arguments.names("locked", locked)
        text, page = self.core.singular(symbols, driven, curves, arguments.seconds("time_budget", time_budget))
        return Configurations(json.loads(text), page)

    def feedforward(
        self, forward: Model, *, to: float | None = None, rtol: float | None = None
    ) -> Feedforward:
        """Solves this inverse model, feeds its forces to a forward model, and compares the motions.

        Inputs of the forward model take their values from unknowns of this one with the same names.

        >>> import daelight
        >>> found = daelight.example("e1").feedforward(daelight.example("e1-forward"))
        >>> found.report.inputs, found.error < 1e-6
        (['u'], True)
        """
        if not isinstance(forward, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise arguments.refused("forward", 'a model, such as daelight.load("forward.mo")', forward)
        stop, tolerance = arguments.optional_number("to", to), arguments.optional_number("rtol", rtol)
        text, page, names, rows = self.core.feedforward(forward.core, stop, tolerance)
        return Feedforward(FeedforwardReport(json.loads(text), page), names, rows)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        to: float | None = None,
        rtol: float | None = None,
        on_singularity: Literal["stop", "continue"] = "continue",
        with_run: bool = True,
        time_budget: float = 20.0,
    ) -> None:
        """Writes everything about the model on one HTML page that opens without a network.

        >>> import daelight, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "mass.html"
        >>> daelight.example("spring-mass").report(path)
        >>> "SpringMass" in path.read_text()
        True
        """
        page = self.core.report(to, rtol, on_singularity == "continue", with_run, time_budget)
        write_whole(path, page)

    def sweep(
        self,
        grid: Mapping[str, ArrayLike] | Sequence[Mapping[str, float]],
        measures: str | Sequence[str] = ("status",),
        *,
        t_span: tuple[float, float] | None = None,
        rtol: float | None = None,
        executor: Any = None,
        chunk: int | None = None,
    ) -> SweepResult:
        """Measures the model at many values of its parameters; `help(daelight.sweep)` says more.

        >>> import daelight
        >>> daelight.example("pendulum").sweep({"L": [1.0, 2.0]}, ["dof"])["dof"].tolist()
        [2.0, 2.0]
        """
        from .sweep import sweep

        return sweep(
            self, grid, measures, t_span=t_span, rtol=rtol, executor=executor, chunk=chunk
        )

    def solve_many(
        self,
        points: Mapping[str, ArrayLike],
        *,
        t_span: tuple[float, float] | None = None,
        t_eval: ArrayLike | None = None,
        rtol: float | None = None,
        threads: int | None = None,
    ) -> Ensemble:
        """Runs of the model at many values of its parameters, on all processors and without holding the interpreter.

        `points` maps parameters to values, all of one length: the k-th run takes the k-th of each. Every run is the one that `solve` gives. `t_eval` are the
        times of the result, by default 101 from the beginning to the end.

        >>> import daelight
        >>> import numpy as np
        >>> lengths = np.random.default_rng(1).normal(1.0, 0.1, 50)
        >>> runs = daelight.example("pendulum").solve_many({"L": lengths}, t_span=(0, 1))
        >>> runs.y.shape, runs.bands("x").shape
        ((50, 5, 101), (3, 101))
        """
        from .sweep import solve_many

        return solve_many(self, points, t_span, t_eval, rtol, threads)

    def __repr__(self) -> str:
        about = f": {self.description}" if self.description else ""
        return f"<daelight.Model {self.name}{about}>"

    def _repr_html_(self) -> str:
        texts, markups = self.equations, self.core.equations_mathml(_MOST_EQUATIONS)
        about = f": {html.escape(self.description)}" if self.description else ""
        parts = [
            f"<p><b>{html.escape(self.name)}</b>{about}<br>"
            f"<small>{len(texts)} equations for {len(self.unknowns)} unknowns</small></p>"
        ]
        rows = "".join(
            f"<mtr><mtd>{markup}</mtd></mtr>"
            if markup is not None
            else f"<mtr><mtd><mtext>{html.escape(text[:80])}…</mtext></mtd></mtr>"
            for text, markup in zip(texts, markups)
        )
        equations = f'<math display="block"><mtable columnalign="left">{rows}</mtable></math>'
        if len(texts) > len(markups):
            equations += f"<p>and {len(texts) - len(markups)} more</p>"
        box = f"<div style='overflow-x:auto'>{equations}</div>"
        short = len(texts) <= _SHOWN_EQUATIONS and max(map(len, texts), default=0) <= _SHOWN_LENGTH
        parts.append(folded("equations", box, is_open=short))
        values = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{value:g}</td></tr>"
            for name, value in self.parameters.items()
        )
        if values:
            parts.append(folded(f"parameters ({len(self.parameters)})", f"<table>{values}</table>"))
        return "".join(parts)


def _functions(events: object) -> list[Event]:
    """Events as functions of time and values."""
    wanted: list[Any] = [events] if callable(events) else list(events) if arguments.is_sequence(events) else []
    if not wanted or not all(callable(event) for event in wanted):
        takes = 'one condition such as "y < -0.5" that ends the run, or a function of time and values, or a list of functions'
        raise arguments.refused("events", takes, events)
    return wanted


def _with_events(
    run: CompiledRun, events: Sequence[Event], integrate: Callable[[float | None], CompiledRun]
) -> tuple[CompiledRun, list[tuple[Floats, Floats]], bool]:
    """Finds events along a run, and ends it at the first one that is terminal."""
    times = [zeros(run, event) for event in events]
    ends = [
        float(found[0])
        for event, found in zip(events, times)
        if getattr(event, "terminal", False) and found.size
    ]
    if ends:
        forwards = run.span[1] >= run.span[0]
        stop = min(ends) if forwards else max(ends)
        run = integrate(stop)
        times = [found[found <= stop] if forwards else found[found >= stop] for found in times]
    values = [run.at(np.ascontiguousarray(found), False).T for found in times]
    return run, list(zip(times, values)), bool(ends)


class Feedforward:
    """Forces that make a forward model follow a prescribed motion, and how well it does.

    `report` is the document of `feedforward`, `t` the times at which motions were compared, `found["u1"]` a force there, and
    `error` the largest distance from the prescribed motion.

    >>> import daelight
    >>> found = daelight.example("e1").feedforward(daelight.example("e1-forward"))
    >>> found["u"].shape == found.t.shape
    True
    """

    def __init__(
        self, report: FeedforwardReport, names: list[str], rows: list[tuple[float, list[float]]]
    ) -> None:
        self.report = report
        self.t: Floats = np.array([time for time, _ in rows])
        table = np.array([values for _, values in rows])
        self._columns: dict[str, Floats] = {name: table[:, k] for k, name in enumerate(names)}

    @property
    def success(self) -> bool:
        """Whether both runs reached their ends."""
        return self.report.status == "success"

    @property
    def message(self) -> str:
        """How well the motion is followed."""
        return self.report.message

    @property
    def error(self) -> float:
        """The largest distance from the prescribed motion."""
        return max((path.largest for path in self.report.paths), default=float("nan"))

    @property
    def names(self) -> list[str]:
        """Names of the columns: forces, then errors."""
        return list(self._columns)

    def __getitem__(self, name: str) -> Floats:
        if name not in self._columns:
            raise arguments.missing("a force or an error", name, self._columns)
        return self._columns[name]

    def __str__(self) -> str:
        return str(self.report)

    def __repr__(self) -> str:
        return f"<daelight.Feedforward: {self.message}>"

    def plot(self, *names: str) -> Figure:
        """Forces and errors over time.

        >>> import daelight
        >>> found = daelight.example("e1").feedforward(daelight.example("e1-forward"))
        >>> found.plot("u").svg.startswith("<svg")
        True
        """
        chosen = names or tuple(self._columns)
        return curves("feedforward", self.t.tolist(), {name: self[name] for name in chosen})

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.message)}</p>{self.plot().svg}"


def rebuilt(
    text: str,
    file: str,
    model: str | None,
    parameters: list[str],
    stop_when: str | None,
    free: list[str],
) -> Model:
    """The same model in another process: models travel as text."""
    return Model(CompiledModel.from_source(text, file, model, parameters, stop_when, free))

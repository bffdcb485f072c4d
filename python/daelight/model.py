"""Models: where they come from, and what can be asked about them."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _daelight
from .documents import Document, Passport, Report, Start
from .errors import SingularityError
from .results import Result, named_values

if TYPE_CHECKING:
    from .sweep import SweepResult

Value = float | int | bool | str | Sequence[Any]

# Equations that a notebook shows.
_MOST_EQUATIONS = 40


def load(path: str | os.PathLike[str], model: str | None = None) -> Model:
    """Reads a Modelica file; `model` chooses one of several in it."""
    text = os.fspath(path)
    if os.sep not in text and not text.endswith(".mo"):
        # A bare name would be looked for in the library first.
        text = os.path.join(".", text)
    return Model(_daelight.Model.load(text, model))


def example(name: str) -> Model:
    """A built-in model.

    >>> import daelight
    >>> daelight.example("robotic-arm").name
    'RoboticArm'
    """
    if os.sep in name or name.endswith(".mo") or name == "-":
        raise ValueError(f"`{name}` is no name of a built-in model; load() reads files")
    return Model(_daelight.Model.load(name))


def examples() -> dict[str, str]:
    """Names and descriptions of the built-in models."""
    return dict(_daelight.built_in_models())


def _modelica(value: Value) -> str:
    """A value as Modelica writes it; text stands for an expression."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return "{" + ", ".join(_modelica(item) for item in value) + "}"


class Parameters(Mapping[str, float]):
    """The parameters of a model and their values."""

    def __init__(self, values: Sequence[tuple[str, float]]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Parameters({self._values!r})"


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

    def __init__(self, core: _daelight.Model) -> None:
        self._core = core

    @classmethod
    def from_source(
        cls, text: str, *, name: str = "<text>", model: str | None = None
    ) -> Model:
        """Reads Modelica text; messages call it `name`, and `model` chooses one of several in it."""
        return cls(_daelight.Model.from_source(text, name, model))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (self._core.text, self._core.file, *self._core.recipe))

    @property
    def name(self) -> str:
        """Its name."""
        return self._core.name

    @property
    def description(self) -> str:
        """Its comment."""
        return self._core.comment

    @property
    def source(self) -> str:
        """Its text, before any change of parameters."""
        return self._core.text

    @property
    def unknowns(self) -> list[str]:
        """Names of the unknowns, in the order of the model."""
        return self._core.unknowns

    @property
    def equations(self) -> list[str]:
        """The equations as they are written."""
        return self._core.equations

    @property
    def parameters(self) -> Parameters:
        """Names and values of the parameters, array elements as `a[3]`."""
        return Parameters(self._core.parameters)

    def with_parameters(
        self, values: Mapping[str, Value] | None = None, /, **more: Value
    ) -> Model:
        """The same model with other values of parameters.

        Names that are no Python names go into the mapping: `m.with_parameters({"a[3]": 0.02}, l2=0.5)`.
        """
        chosen = {**(values or {}), **more}
        settings = [f"{name}={_modelica(value)}" for name, value in chosen.items()]
        return Model(self._core.with_parameters(settings))

    def check(self) -> Document:
        """Warnings about the text, and about parts with too many or too few equations.

        >>> import daelight
        >>> daelight.example("pendulum").check().ok
        True
        """
        return Document(json.loads(self._core.check()))

    def derive(self, *, scalar: bool = False) -> str:
        """Flat Modelica, Lagrangians expanded; `scalar` writes arrays out, too."""
        return self._core.derive(scalar)

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
        text, page = self._core.analyze(
            at, named_values(point), interval, projectors, eigenvalues, budget
        )
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
        text, page = self._core.init(
            at, named_values(point), order, all, nearest_regular, budget
        )
        return Start(json.loads(text), page)

    def reduce(
        self,
        method: Literal["dummy", "strangeness", "minimal"] = "dummy",
        form: Literal["implicit", "semi-explicit", "explicit"] = "implicit",
        *,
        at: float | None = None,
        budget: float = 60.0,
    ) -> Model:
        """An equivalent model of index 1 or 0."""
        text = self._core.reduce(method, form, at, budget)
        return Model.from_source(text, name=f"{self._core.file} reduced")

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
        point: Mapping[str, float] | None = None,
        order: int | None = None,
        max_steps: int | None = None,
        budget: float | None = None,
        stop_when: str | None = None,
    ) -> Result:
        """Integrates the model at any index.

        What is left out comes from the model's experiment. `t_eval` chooses the times of the result, by default the steps.
        `on_singularity="continue"` passes removable singularities, `"raise"` raises `SingularityError` at one that ends
        the run. `stop_when="x < 0"` ends the run where a condition begins to hold.

        >>> import daelight
        >>> run = daelight.example("robotic-arm").solve(on_singularity="continue")
        >>> [found.nature for found in run.singularities][0]
        'removable'
        """
        if on_singularity not in ("stop", "continue", "raise"):
            raise ValueError('on_singularity is "stop", "continue" or "raise"')
        begin, end = (None, None) if t_span is None else (float(t_span[0]), float(t_span[1]))
        times = None
        if t_eval is not None:
            times = np.ascontiguousarray(t_eval, dtype=float)
            if times.ndim != 1 or not np.isfinite(times).all():
                raise ValueError("`t_eval` must be a list of finite numbers")
        core = self._core
        if stop_when is not None:
            core = core.with_parameters([], stop_when)
        run = core.solve(
            begin,
            end,
            rtol,
            atol,
            method,
            on_singularity == "continue",
            order,
            max_steps,
            budget,
            named_values(point),
            times,
        )
        result = Result(run, dense_output)
        if on_singularity == "raise" and result.report["status"] == "singularity":
            last = result.singularities[-1] if result.singularities else None
            raise SingularityError(str(result), [], last, result.report)
        return result

    def singular(
        self,
        *,
        parameters: Sequence[str] | Literal["all"] | None = None,
        locked: Sequence[str] = (),
        curves: bool = False,
        time_budget: float = 60.0,
    ) -> Report:
        """Singular configurations of a mechanism before any run, by exact algebra.

        `parameters` stay symbols, `"all"` of them or some; `locked` coordinates are driven from outside. With one or
        two `parameters`, `curves` counts real configurations on the curves between regions too, which takes longer.

        >>> import daelight
        >>> found = daelight.example("four-bar").singular(parameters="all")
        >>> found.verdict, found.cases[0].text
        ('proved', 'q[1], q[2], q[3] aligned')
        """
        names = [parameters] if isinstance(parameters, str) else parameters
        text, page = self._core.singular(
            None if names is None else list(names), list(locked), curves, time_budget
        )
        return Report(json.loads(text), page)

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
        """Writes everything about the model on one HTML page that opens without a network."""
        page = self._core.report(to, rtol, on_singularity == "continue", with_run, time_budget)
        _daelight.write_whole(path, page)

    def sweep(
        self,
        grid: Mapping[str, ArrayLike] | Sequence[Mapping[str, float]],
        measures: Sequence[str] = ("status",),
        *,
        t_span: tuple[float, float] | None = None,
        rtol: float | None = None,
        executor: Any = None,
        chunk: int | None = None,
    ) -> SweepResult:
        """Measures the model at many values of its parameters; `daelight.sweep` tells more."""
        from .sweep import sweep

        return sweep(
            self, grid, measures, t_span=t_span, rtol=rtol, executor=executor, chunk=chunk
        )

    def __repr__(self) -> str:
        about = f": {self.description}" if self.description else ""
        return f"<daelight.Model {self.name}{about}>"

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(self.name)}</b> {html.escape(self.description)}</p>"]
        texts, markups = self.equations, self._core.equations_mathml(_MOST_EQUATIONS)
        rows = "".join(
            f"<mtr><mtd>{markup}</mtd></mtr>"
            if markup is not None
            else f"<mtr><mtd><mtext>{html.escape(text[:80])}…</mtext></mtd></mtr>"
            for text, markup in zip(texts, markups)
        )
        parts.append(f'<math display="block"><mtable columnalign="left">{rows}</mtable></math>')
        if len(texts) > len(markups):
            parts.append(f"<p>and {len(texts) - len(markups)} more</p>")
        values = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{value:g}</td></tr>"
            for name, value in self.parameters.items()
        )
        if values:
            parts.append(f"<details><summary>parameters</summary><table>{values}</table></details>")
        return "".join(parts)


def _rebuilt(
    text: str, file: str, model: str | None, parameters: list[str], stop_when: str | None
) -> Model:
    """The same model in another process: models travel as text."""
    return Model(_daelight.Model.from_source(text, file, model, parameters, stop_when))



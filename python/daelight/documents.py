"""The JSON documents of daelight as objects whose fields are attributes.

`docs/json.md` describes the fields. They can be read by name, too:

>>> from daelight.documents import Document
>>> found = Document({"index": 3, "levels": [{"order": 1}]})
>>> found.index, found["levels"][0].order
(3, 1)
"""

from __future__ import annotations

import html
import json
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard


# Components of an open direction below this are rounding, as on the command line.
_NO_COMPONENT = 1e-6

_KINDS: dict[str, dict[str, type[Document]]] = {}


def _declared(kind: type[Document]) -> dict[str, type[Document]]:
    """The classes of the fields that a class declares, as far as they are documents or lists of documents."""
    known = _KINDS.get(kind.__qualname__)
    if known is not None:
        return known
    found = _KINDS[kind.__qualname__] = {}
    for name, hint in typing.get_type_hints(kind).items():
        for part in (hint, *typing.get_args(hint)):
            if isinstance(part, type) and issubclass(part, Document):
                found[name] = part
    return found


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _wrap(value: Any, kind: type[Document]) -> Any:
    if isinstance(value, Document):
        return value if isinstance(value, kind) else kind(value)
    if _is_object(value):
        return kind(value)
    if _is_list(value):
        return [_wrap(item, kind) for item in value]
    return value


class Document:
    """A document, or a part of one. Its fields are attributes, and nothing else is named like one of them.

    >>> from daelight import Document
    >>> Document({"index": 3}).index
    3
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any] | Document) -> None:
        kinds = _declared(type(self))
        self._fields: dict[str, Any] = {
            name: _wrap(fields[name], kinds.get(name, Document)) for name in fields
        }

    if not TYPE_CHECKING:
        # Which fields there are is declared by the classes below, so that a type checker knows them.
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            try:
                return self._fields[name]
            except KeyError:
                known = ", ".join(self._fields)
                raise AttributeError(f"there is no `{name}`, only {known}") from None

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def get(self, name: str, otherwise: Any = None) -> Any:
        """A field, or another value where there is none.

        >>> from daelight import Document
        >>> Document({"index": 3}).get("dof", 0)
        0
        """
        return self._fields.get(name, otherwise)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_dict()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.to_dict(),))

    def to_dict(self) -> dict[str, Any]:
        """The document as plain dictionaries and lists.

        >>> from daelight import Document
        >>> Document({"levels": [{"order": 1}]}).to_dict()
        {'levels': [{'order': 1}]}
        """
        return {name: _plain(value) for name, value in self._fields.items()}

    def _repr_html_(self) -> str:
        return table(self._fields)


def _plain(value: Any) -> Any:
    if isinstance(value, Document):
        return value.to_dict()
    if _is_list(value):
        return [_plain(item) for item in value]
    return value


def document(fields: Mapping[str, Any]) -> Document:
    """A document of parsed JSON."""
    return Document(fields)


def table(rows: Mapping[str, Any]) -> str:
    """Names and values as an HTML table; long values are cut."""

    def cell(value: Any) -> str:
        if isinstance(value, (Document, list)):
            text = json.dumps(_plain(value), ensure_ascii=False)
        else:
            text = str(value)
        return html.escape(text if len(text) <= 300 else text[:299] + "…")

    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{cell(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table>{body}</table>"


class Named(Document):
    """Values by name: `start.values["p[1]"]`, `dict(start.values.items())`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> float:
        return float(self._fields[name])

    def items(self) -> list[tuple[str, float]]:
        """Names and values."""
        return list(self._fields.items())


class Diagnostic(Document):
    """A message: its `code`, `severity`, place and help."""

    __slots__ = ()

    severity: str
    code: str
    message: str
    file: str | None
    line: int | None
    column: int | None
    help: str | None


class Structural(Document):
    """What the pattern of the equations tells."""

    __slots__ = ()

    index: int
    dof: int
    regular: bool | None
    equation_offsets: list[int]
    variable_offsets: list[int]
    repaired: Document | None
    blocks: list[Document]
    ties: list[Document]


class Level(Document):
    """Ranks of the derivative array at one level."""

    __slots__ = ()

    order: int
    one_full: bool
    rank_T: int
    rank_V: int
    gap: float | None


class Differentiation(Document):
    """The differentiation index and the ranks behind it; None where it is not decided or does not exist."""

    __slots__ = ()

    index: int | None
    dof: int | None
    condition: float | None
    levels: list[Level]


class Tractability(Document):
    """The tractability index and the ranks of its matrices."""

    __slots__ = ()

    index: int | None
    characteristic_values: list[int]


class Strangeness(Document):
    """The strangeness index and its counts."""

    __slots__ = ()

    index: int | None
    d: int | None
    a: int | None
    u: int | None
    v: int | None


class HiddenConstraint(Document):
    """A condition that follows by differentiation."""

    __slots__ = ()

    text: str
    from_equation: str
    times_differentiated: int


class Locus(Document):
    """An expression at whose zeros the model is singular."""

    __slots__ = ()

    factor: str
    kind: str | None
    equations: list[str]
    unknowns: list[str]
    components: list[str]


class Statistics(Document):
    """What a run cost."""

    __slots__ = ()

    steps: int
    rejected: int
    residuals: int
    jacobians: int
    factorizations: int
    jets: int


class Configuration(Document):
    """A singular configuration of a mechanism."""

    __slots__ = ()

    angles: Named
    values: Named
    residual: float
    certified: bool
    multiplicity: int
    corank: int | None
    cases: list[int]


class Case(Document):
    """One way of a mechanism to be singular."""

    __slots__ = ()

    text: str
    conditions: list[str]


class Factor(Document):
    """A condition on parameters."""

    __slots__ = ()

    factor: str
    condition: str
    physical: bool
    irreducible: bool


class PathError(Document):
    """How far a prescribed motion is missed."""

    __slots__ = ()

    equation: str
    largest: float
    time: float
    last: float
    errors: list[float]


# How flags of the command line are called in Python, where that is not their name with a value.
_IN_PYTHON = {
    "set": "with_parameters()",
    "free": "with_equations()",
    "nearest-regular": "nearest_regular=True",
    "all": "all=True",
    "json": "to_dict()",
    "rest": "rest=True",
    "library": "MODELICAPATH",
    "from": "t_span",
    "to": "t_span",
    "save-at": "t_eval",
    "points": "t_eval",
    "stop-when": "events",
}


def in_python(text: str) -> str:
    """A message of the command line in Python's words.

    >>> in_python("the run ended; --on-singularity continue passes it")
    'the run ended; on_singularity="continue" passes it'
    >>> in_python("allow more time with --budget; see `daelight check arm.mo`")
    'allow more time with budget=…; see `check()`'
    >>> in_python('give what is open, such as --free "q=time"')
    'give what is open, such as with_equations("q=time")'
    """
    text = text.replace("with --library, or MODELICAPATH", "in MODELICAPATH")
    text = re.sub(r"--([a-z-]+) (continue|rest|taylor|radau|bdf)\b", lambda m: f'{m[1].replace("-", "_")}="{m[2]}"', text)
    text = re.sub(r'--free ("[^"]*")', r"with_equations(\1)", text)
    text = re.sub(r", or run with --set \S+", "", text)
    text = re.sub(r"--set ([\w.]+)=(\S+)", r"with_parameters(\1=\2)", text)
    text = re.sub(r"`daelight ([a-z]+)[^`]*`", r"`\1()`", text)
    # The name of a text in a frame.
    text = re.sub(r"─\[ --([a-z-]+)", lambda m: f"─[ {_IN_PYTHON.get(m[1], m[1]).removesuffix('()')}", text)
    return re.sub(r"--([a-z][a-z-]*)", lambda m: _IN_PYTHON.get(m[1], f"{m[1].replace('-', '_')}=…"), text)


def told_time(time: float) -> float:
    """A time without the last digits where these are only the rounding of a short number.

    >>> told_time(1.5000000000001685), told_time(1.5446260000352117)
    (1.5, 1.5446260000352117)
    """
    rounded = float(f"{time:.8e}")
    return rounded if abs(rounded - time) <= 4096 * sys.float_info.epsilon * abs(time) else time


def folded(title: str, inside: str, *, is_open: bool = False) -> str:
    """A part of a notebook's page that opens at a click."""
    return f"<details{' open' if is_open else ''}><summary>{html.escape(title)}</summary>{inside}</details>"


def listed(texts: list[str]) -> str:
    """A list of formulas."""
    return "<ul>" + "".join(f"<li><code>{html.escape(text)}</code></li>" for text in texts) + "</ul>"


class Singularity(Document):
    """A singular point that a run met.

    >>> import daelight
    >>> found = daelight.example("robotic-arm").solve().singularities[0]
    >>> found.kind, found.nature, found.locus, found.unknowns
    ('5-A', 'removable', 'sin(x3)', ['x1', 'x3'])
    """

    __slots__ = ()

    time: float
    kind: str | None
    nature: str
    worth: str
    locus: str | None
    equations: list[str]
    unknowns: list[str]
    null_vector: Document

    def __str__(self) -> str:
        kind = f" of kind {self.kind}" if self.get("kind") else ""
        where = f", where {self.locus} = 0" if self.get("locus") else ""
        return f"singularity{kind} at t = {told_time(self.time)}, {self.nature}{where}"

    def __repr__(self) -> str:
        return f"<daelight.Singularity: {str(self).removeprefix('singularity').removeprefix(' of ')}>"

    def page(self) -> str:
        """What a notebook shows.

        >>> import daelight
        >>> "open direction x1" in daelight.example("robotic-arm").solve().singularities[0].page()
        True
        """
        equations = "".join(
            f"<li><code>{html.escape(text)}</code></li>" for text in self["equations"]
        )
        direction = ", ".join(
            f"{html.escape(name)}: {value:.4f}"
            for name, value in self["null_vector"].to_dict().items()
            if abs(value) > _NO_COMPONENT
        )
        open_part = f"<p>open direction {direction}</p>" if direction else ""
        names = html.escape(", ".join(self["unknowns"]))
        return (
            f"<p><b>{html.escape(str(self))}</b></p>"
            f"<p>these equations do not determine {names} there:</p>"
            f"<ul>{equations}</ul>{open_part}"
        )

    def _repr_html_(self) -> str:
        return self.page()


class ModelEvent(Document):
    """What happened at an event: when, by which condition, and each name that changed with its values before and behind.

    >>> import daelight
    >>> text = "model Step discrete Real u; Real x; equation when time >= 2 then u = 3; end when; der(x) = u; end Step;"
    >>> event = daelight.Model.from_source(text).solve((0, 4)).events[0]
    >>> event.time, event.condition, event.changed["u"]
    (2.0, 'time >= 2', [0.0, 3.0])
    """

    __slots__ = ()

    time: float
    condition: str
    line: int | None
    changed: Sides
    impulses: Named
    energy_lost: float | None

    def __str__(self) -> str:
        return f"event at t = {told_time(self.time)}: {self.condition}"


class Sides(Document):
    """Values before and behind an event by name: `event.changed["v"]`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> list[float]:
        return [float(value) for value in self._fields[name]]

    def items(self) -> list[tuple[str, list[float]]]:
        """Names, and values before and behind."""
        return [(name, self[name]) for name in self._fields]


class Mode(Document):
    """A stretch of a run in one mode: `mode["from"]`, `mode.to`, the conditions that hold, index and degrees of freedom.

    >>> import daelight
    >>> text = "model Lock Real x, v(start = 1); equation der(x) = v; if time < 2 then der(v) = 0; else v = 0; end if; end Lock;"
    >>> [(mode["from"], mode.to, mode.index, mode.dof) for mode in daelight.Model.from_source(text).solve((0, 4)).modes]
    [(0.0, 2.0, 0, 2), (2.0, 4.0, 1, 1)]
    """

    __slots__ = ()

    to: float
    mode: int
    conditions: list[str]
    index: int | None
    dof: int | None


class Report(Document):
    """A document with the page that the command line prints for it: `print(report)`.

    >>> import daelight
    >>> str(daelight.example("pendulum").analyze()).splitlines()[1]
    'A regular DAE of index 3 with 2 degrees of freedom.'
    """

    __slots__ = ("_page",)

    model: str
    warnings: list[str]

    def __init__(self, fields: Mapping[str, Any] | Document, page: str = "") -> None:
        super().__init__(fields)
        # The page advises flags; whoever reads it here calls functions.
        self._page = in_python(page)

    def __str__(self) -> str:
        return self._page

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.to_dict(), self._page))

    def _first_line(self) -> str:
        return self._page.split("\n", 1)[0]

    def __repr__(self) -> str:
        return f"<daelight.{type(self).__name__}: {self._first_line()}>"

    def _all(self) -> str:
        page = f"<pre style='line-height:1.2;overflow-x:auto'>{html.escape(self._page)}</pre>"
        return folded("everything", page)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._first_line())}</p>{self._all()}"


class CheckReport(Document):
    """What `check` says: whether there is a model, and the messages about its text.

    >>> import daelight
    >>> daelight.example("four-bar").check().diagnostics[0].code
    'underdetermined'
    """

    __slots__ = ()

    ok: bool
    diagnostics: list[Diagnostic]

    def _repr_html_(self) -> str:
        if not self.diagnostics:
            return "<p>no message: every unknown can be matched with an equation</p>"
        return listed([f"{found.severity}[{found.code}]: {found.message}" for found in self.diagnostics])


class RunReport(Report):
    """How a run went: the document of `solve`.

    >>> import daelight
    >>> report = daelight.example("pendulum").solve((0, 1)).report
    >>> report.status, report.statistics.rejected
    ('success', 0)
    """

    __slots__ = ()

    status: str
    reason: str
    message: str
    method: str
    time: float
    final: Named
    singularities: list[Singularity]
    statistics: Statistics
    max_constraint_residual: float
    residuals: list[float]


class Passport(Report):
    """What kind of DAE a model is, at a point: the document of `analyze`.

    >>> import daelight
    >>> passport = daelight.example("pendulum").analyze()
    >>> passport.differentiation.index, passport.strangeness.index, passport.free
    (3, 2, ['y', 'vy'])
    """

    __slots__ = ()

    time: float
    n_equations: int
    n_unknowns: int
    verdict: str
    structural: Structural | None
    differentiation: Differentiation
    tractability: Tractability
    strangeness: Strangeness
    free: list[str]
    hidden_constraints: list[HiddenConstraint]
    singular_loci: list[Locus]
    point: Named

    def _sentence(self) -> str:
        index, dof = self.differentiation.index, self.differentiation.dof
        if self.verdict == "singular":
            return "a singular point: no index exists here"
        if self.verdict == "not-unique":
            return "not uniquely solvable: unknowns are free or equations redundant"
        if index is None:
            return "its index is not decided here"
        return f"a {self.verdict} DAE of index {index} with {dof} degree{'s' if dof != 1 else ''} of freedom"

    def __repr__(self) -> str:
        return f"<daelight.Passport: {self.model}, {self._sentence()}>"

    def _repr_html_(self) -> str:
        def word(value: int | None) -> str:
            return "?" if value is None else str(value)

        structural = self.structural.index if self.structural is not None else None
        cells = (
            ("structural", word(structural)),
            ("differentiation", word(self.differentiation.index)),
            ("tractability", word(self.tractability.index)),
            ("strangeness", word(self.strangeness.index)),
        )
        row = " · ".join(f"{name} {value}" for name, value in cells)
        parts = [
            f"<p><b>{html.escape(self.model)}</b>, at t = {self.time:g}: {html.escape(self._sentence())}<br>"
            f"<small>index by notion: {row}</small></p>"
        ]
        if self.free:
            parts.append(f"<p>free to choose together: {html.escape(', '.join(self.free))}</p>")
        if self.singular_loci:
            loci = [f"{found.factor} = 0  ({found.kind or '?'})" for found in self.singular_loci]
            parts.append(folded(f"singular where ({len(loci)})", listed(loci), is_open=len(loci) <= 3))
        if self.hidden_constraints:
            texts = [found.text for found in self.hidden_constraints]
            parts.append(folded(f"hidden constraints ({len(texts)})", listed(texts)))
        return "".join(parts) + self._all()


class Start(Report):
    """A consistent start: the document of `init`. `values` and `derivatives` are by name.

    >>> import daelight
    >>> start = daelight.example("pendulum").with_parameters(L=2).init()
    >>> start.values["x"], start.dof
    (2.0, 2)
    """

    __slots__ = ()

    status: str
    time: float
    values: Named
    derivatives: Named
    n_free: int
    free: list[str]
    dof: int | None
    residual: float
    distance: float
    adjusted: Document
    computed: list[str]
    others: list[Document]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{value:.8g}</td>"
            f"<td style='text-align:left'>{'adjusted' if name in self.adjusted else ''}</td></tr>"
            for name, value in self.values.items()[:40]
        )
        return (
            f"<p><b>{html.escape(self.model)}</b>: consistent values at t = {self.time:g}; "
            f"{len(self.adjusted)} of {len(self.values)} start values adjusted</p>"
            + folded("values", f"<table>{rows}</table>", is_open=len(self.values) <= 8)
            + self._all()
        )


class LinearReport(Report):
    """A linear model as a document: that of `linearize`.

    >>> import daelight
    >>> text = "model Lag input Real u; output Real y(start = 0); equation 0.5*der(y) = u - y; end Lag;"
    >>> daelight.Model.from_source(text).linearize().report.a
    [[-2.0]]
    """

    __slots__ = ()

    time: float
    at_rest: bool
    point: Named
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    a: list[list[float]]
    b: list[list[float]]
    c: list[list[float]]
    d: list[list[list[float]]]
    shifts: list[list[list[float]]]
    poles: list[Document]
    zeros: list[Document] | None
    descriptor: Document


class Configurations(Report):
    """Singular configurations of a mechanism: the document of `singular`.

    >>> import daelight
    >>> found = daelight.example("four-bar").singular()
    >>> found.verdict, found.n_configurations
    ('proved', 0)
    """

    __slots__ = ()

    constraints: list[str]
    unknowns: list[str]
    cases: list[Case]
    always: list[int]
    locus: list[Factor]
    configurations: list[Configuration]
    n_configurations: int | None
    empty: bool | None
    has_solutions: bool | None
    verdict: str
    certificate: str
    reasons: list[str]

    def _repr_html_(self) -> str:
        number = self.n_configurations
        plural = "" if number == 1 else "s"
        head = "conditions on parameters" if number is None else f"{number} real singular configuration{plural}"
        if self.has_solutions is False:
            head = "the constraints have no real solution at these values"
        parts = [
            f"<p><b>{html.escape(self.model)}</b>: {head}; verdict: {html.escape(self.verdict)}</p>",
            folded("how it can be singular", listed([case.text for case in self.cases]), is_open=True),
        ]
        if self.locus:
            texts = [found.condition for found in self.locus[:12]]
            where = "more where" if self.always else "only where"
            parts.append(folded(f"{where} ({len(self.locus)})", listed(texts)))
        if self.configurations:
            texts = [
                ", ".join(f"{name} = {value:.6g}" for name, value in found.angles.items())
                for found in self.configurations[:12]
            ]
            parts.append(folded("configurations", listed(texts), is_open=len(texts) <= 4))
        return "".join(parts) + self._all()


class FeedforwardReport(Report):
    """How well fed-forward forces follow a prescribed motion: the document of `feedforward`."""

    __slots__ = ()

    status: str
    message: str
    inputs: list[str]
    times: list[float]
    paths: list[PathError]
    inverse: RunReport
    forward: RunReport | None

"""Exceptions: one for each way in which a command of daelight fails.

>>> import daelight
>>> try:
...     daelight.Model.from_source("model M Real x; equation x = y; end M;")
... except daelight.ModelError as error:
...     print(error.diagnostics[0].code)
undeclared-name
"""

from __future__ import annotations

import html
import json
from typing import Any

from .documents import Diagnostic, Document, Singularity, document, in_python


class DaelightError(Exception):
    """What went wrong. Its text is the frame that the command line shows.

    `diagnostics` lists the messages one by one, `singularity` describes the singular point that is in the way, if there
    is one, and `document` is the whole answer that came instead of the one asked for, or None.

    >>> import daelight
    >>> try:
    ...     daelight.example("pendulum").with_parameters(l=2)
    ... except daelight.DaelightError as error:
    ...     print(error.diagnostics[0].code)
    unknown-parameter
    """

    diagnostics: list[Diagnostic]
    singularity: Singularity | None
    document: Document | None

    def __init__(
        self,
        rendered: str,
        diagnostics: list[Diagnostic] | None = None,
        singularity: Singularity | None = None,
        document: Document | None = None,
    ) -> None:
        super().__init__(in_python(rendered))
        self.diagnostics = diagnostics or []
        self.singularity = singularity
        self.document = document

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (str(self), self.diagnostics, self.singularity, self.document)
        return (type(self), parts)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class ModelError(DaelightError):
    """The text of a model, or a value given for it, is at fault (exit status 1 or 2).

    >>> import daelight
    >>> try:
    ...     daelight.Model.from_source("model M Real x; equation x = y; end M;")
    ... except daelight.ModelError as error:
    ...     print(error.diagnostics[0].message)
    `y` is not declared
    """


class StartError(DaelightError):
    """There is no consistent start (exit status 1).

    >>> import daelight
    >>> text = "model M Real x(start = 2, fixed = true); equation der(x) = 1; initial equation x = 1; end M;"
    >>> try:
    ...     daelight.Model.from_source(text).init()
    ... except daelight.StartError as error:
    ...     print(error.diagnostics[0].code)
    inconsistent-initial
    """


class SingularityError(DaelightError):
    """A singular point is in the way (exit status 3).

    >>> import daelight
    >>> try:
    ...     daelight.example("robotic-arm").solve(on_singularity="raise")
    ... except daelight.SingularityError as error:
    ...     print(error.singularity.kind)
    5-A
    """


class NumericsError(DaelightError):
    """The numerics gave up (exit status 4).

    >>> import daelight
    >>> issubclass(daelight.NumericsError, daelight.DaelightError)
    True
    """


_CLASSES: dict[str, type[DaelightError]] = {
    kind.__name__: kind
    for kind in (ModelError, StartError, SingularityError, NumericsError)
}


def from_core(
    kind: str, rendered: str, diagnostics: str, text: str | None
) -> DaelightError:
    """Makes the exception that the compiled half asks for."""
    answer = document(json.loads(text)) if text else None
    singularity = None
    critical = answer.get("critical") if answer is not None else None
    if critical is not None and answer is not None:
        found: dict[str, Any] = {
            "time": answer.get("time"),
            "nature": "singular start",
            "locus": None,
            "null_vector": {},
        }
        found.update(critical.to_dict())
        singularity = Singularity(found)
    records = [Diagnostic(record) for record in json.loads(diagnostics)]
    return _CLASSES[kind](rendered, records, singularity, answer)

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
from collections.abc import Iterator, Mapping
from typing import Any


def _wrap(value: Any) -> Any:
    if isinstance(value, Document):
        return value
    if isinstance(value, dict):
        return Document(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value


class Document:
    """A document, or a part of one. Its fields are attributes, and nothing else is named like one of them."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any] | Document) -> None:
        self._fields: dict[str, Any] = {name: _wrap(fields[name]) for name in fields}

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
        """A field, or another value where there is none."""
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
        """The document as plain dictionaries and lists."""
        return {name: _plain(value) for name, value in self._fields.items()}

    def _repr_html_(self) -> str:
        return table(self._fields)


def _plain(value: Any) -> Any:
    if isinstance(value, Document):
        return value.to_dict()
    if isinstance(value, list):
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


class Singularity(Document):
    """A singular point: `time`, `kind`, `nature`, `locus`, `equations`, `unknowns`, `null_vector`."""

    __slots__ = ()

    def __str__(self) -> str:
        kind = f" of kind {self.kind}" if self.get("kind") else ""
        where = f", where {self.locus} = 0" if self.get("locus") else ""
        return f"singularity{kind} at t = {self.time}, {self.nature}{where}"

    def _repr_html_(self) -> str:
        equations = "".join(
            f"<li><code>{html.escape(text)}</code></li>" for text in self["equations"]
        )
        direction = ", ".join(
            f"{html.escape(name)}: {value:.4f}"
            for name, value in self["null_vector"].to_dict().items()
        )
        open_part = f"<p>open direction {direction}</p>" if direction else ""
        names = html.escape(", ".join(self["unknowns"]))
        return (
            f"<p><b>{html.escape(str(self))}</b></p>"
            f"<p>these equations do not determine {names} there:</p>"
            f"<ul>{equations}</ul>{open_part}"
        )


class Report(Document):
    """A document with the page that the command line prints for it."""

    __slots__ = ("_page",)

    def __init__(self, fields: Mapping[str, Any] | Document, page: str = "") -> None:
        super().__init__(fields)
        self._page = page

    def __str__(self) -> str:
        return self._page

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.to_dict(), self._page))

    def _repr_html_(self) -> str:
        return (
            "<pre style='line-height:1.2;overflow-x:auto'>"
            f"{html.escape(self._page)}</pre>"
        )


class Passport(Report):
    """What kind of DAE a model is, at a point: the document of `analyze`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [
            ("structural", self["structural"]),
            ("differentiation", self["differentiation"]),
            ("tractability", self["tractability"]),
            ("strangeness", self["strangeness"]),
        ]

        def word(part: Any, name: str) -> str:
            value = part.get(name) if part is not None else None
            return "?" if value is None else html.escape(str(value))

        body = "".join(
            f"<tr><td style='text-align:left'>{notion}</td>"
            f"<td>{word(part, 'index')}</td></tr>"
            for notion, part in rows
        )
        dof = word(self["structural"], "dof")
        loci = "".join(
            f"<li><code>{html.escape(locus.factor)} = 0</code>"
            f"{' (' + html.escape(locus.kind) + ')' if locus.kind else ''}</li>"
            for locus in self["singular_loci"]
        )
        hidden = "".join(
            f"<li><code>{html.escape(found.text)}</code></li>"
            for found in self["hidden_constraints"]
        )
        parts = [
            f"<p><b>{html.escape(self['model'])}</b>: {self['n_equations']} equations for "
            f"{self['n_unknowns']} unknowns, at t = {self['time']}; a {self['verdict']} "
            f"point, {dof} degrees of freedom</p>",
            f"<table><tr><th>notion</th><th>index</th></tr>{body}</table>",
        ]
        if hidden:
            parts.append(f"<p>hidden constraints</p><ul>{hidden}</ul>")
        if loci:
            parts.append(f"<p>singular where</p><ul>{loci}</ul>")
        return "".join(parts)


class Start(Report):
    """A consistent start: the document of `init`. `values` and `derivatives` are by name."""

    __slots__ = ()

"""Pictures as SVG. Nothing else needs to be installed.

>>> import daelight
>>> figure = daelight.example("pendulum").solve((0, 1)).plot("x")
>>> figure.svg.startswith("<svg")
True
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._daelight import fan_picture, picture, write_whole


class Figure:
    """A picture that notebooks show and `save` writes.

    >>> import daelight
    >>> daelight.example("pendulum").solve((0, 1)).draw().svg.startswith("<svg")
    True
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Figure({len(self.svg)} characters of SVG)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as an SVG file.

        >>> import daelight, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.svg"
        >>> daelight.example("pendulum").solve((0, 1)).plot("x").save(path)
        >>> path.exists()
        True
        """
        if Path(path).suffix.lower() != ".svg":
            raise ValueError(f"pictures are written as SVG: name the file {Path(path).stem}.svg")
        write_whole(path, self.svg)


def curves(
    title: str,
    t: Sequence[float],
    rows: dict[str, Any],
    marks: Sequence[tuple[float, str]] = (),
    *,
    together: bool = False,
    dark: bool = False,
    panels: Mapping[str, Sequence[str]] | None = None,
) -> Figure:
    """Values over time: one panel each, all in one, or as `panels` says by names of rows."""
    times = [float(time) for time in t]
    lines = [
        (name, times, [float(value) for value in values])
        for name, values in rows.items()
    ]
    shown = (
        [("", lines)]
        if together
        else [(title, [line for line in lines if line[0] in names]) for title, names in panels.items()]
        if panels is not None
        else [(name, [(name, x, y)]) for name, x, y in lines]
    )
    return Figure(picture(title, "t", shown, list(marks), dark))


def fans(title: str, t: Sequence[float], rows: Mapping[str, Sequence[Sequence[float]]], *, dark: bool = False) -> Figure:
    """Quantiles of each quantity at each time, `[time, quantile]`, as bands with their median: one panel each."""
    return Figure(fan_picture(title, list(t), list(rows.items()), dark))

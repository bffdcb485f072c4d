"""Mechanisms in motion: SVG that moves by itself, in a notebook or a browser, without scripts.

>>> import daelight
>>> film = daelight.example("pendulum").solve((0, 1)).animate()
>>> film.svg.startswith("<svg") and "<animate" in film.svg
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .figure import Figure

Point = Sequence[float]
Frame = Sequence[Sequence[Point]]

_WIDTH = 520.0
_MARGIN = 24.0
_COLOURS = ("#1f77b4", "#d1641f", "#2a9d6f", "#8a5fbf", "#b8860b")


class _View:
    """From the coordinates of a model to those of a picture."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        points = [p for frame in frames for line in frame for p in line if all(map(math.isfinite, p))]
        if not points:
            raise ValueError("the drawing has no finite points")
        self.left, self.right = min(p[0] for p in points), max(p[0] for p in points)
        self.low, self.high = min(p[1] for p in points), max(p[1] for p in points)
        size = max(self.right - self.left, self.high - self.low) or 1.0
        self.scale = (_WIDTH - 2 * _MARGIN) / size
        self.width = (self.right - self.left) * self.scale + 2 * _MARGIN
        self.height = (self.high - self.low) * self.scale + 2 * _MARGIN

    def points(self, line: Sequence[Point]) -> str:
        placed = (
            f"{_MARGIN + (x - self.left) * self.scale:.1f},{_MARGIN + (self.high - y) * self.scale:.1f}"
            for x, y in line
            if math.isfinite(x) and math.isfinite(y)
        )
        return " ".join(placed)


def _page(view: _View, body: str, label: str) -> Figure:
    return Figure(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'width="{view.width:.0f}" height="{view.height:.0f}" '
        f'viewBox="0 0 {view.width:.0f} {view.height:.0f}">'
        f'<rect width="100%" height="100%" fill="#fff"/>{body}</svg>'
    )


def film(frames: Sequence[Frame], seconds: float) -> Figure:
    """The polylines in motion, over and over; the thin line is the path of the last point."""
    view = _View(frames)
    last = [frame[-1][-1] for frame in frames if frame and frame[-1]]
    body = [f'<polyline points="{view.points(last)}" fill="none" stroke="#9aa5b1" stroke-width="1"/>']
    for k, line in enumerate(frames[0]):
        values = ";".join(view.points(frame[k]) for frame in frames)
        body.append(
            f'<polyline points="{view.points(line)}" fill="none" stroke="{_COLOURS[k % len(_COLOURS)]}" '
            'stroke-width="3" stroke-linejoin="round" stroke-linecap="round">'
            f'<animate attributeName="points" dur="{seconds:.3g}s" repeatCount="indefinite" values="{values}"/>'
            "</polyline>"
        )
    return _page(view, "".join(body), "the mechanism in motion")


def stills(frames: Sequence[Frame]) -> Figure:
    """The polylines at all these instants, the later the stronger."""
    view = _View(frames)
    body: list[str] = []
    for at, frame in enumerate(frames):
        strength = 0.15 + 0.85 * (at + 1) / len(frames)
        for k, line in enumerate(frame):
            body.append(
                f'<polyline points="{view.points(line)}" fill="none" stroke="{_COLOURS[k % len(_COLOURS)]}" '
                f'stroke-opacity="{strength:.2f}" stroke-width="2" stroke-linejoin="round"/>'
            )
    return _page(view, "".join(body), "the mechanism at several instants")

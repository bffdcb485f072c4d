"""Problems F(t, y, y') = 0 with known solutions, as scipy_dae's documentation treats them, written anew from the formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """A residual, where it starts and ends, and its values at the end."""

    name: str
    fun: Callable[[float, Floats, Floats], Any]
    span: tuple[float, float]
    y0: list[float]
    yp0: list[float]
    end: list[float]
    methods: tuple[str, ...] = ("Radau", "BDF")

    def error(self, y: Floats) -> float:
        """The largest error relative to max(|y|, 1e-3 of the largest)."""
        exact = np.array(self.end)
        return float(np.max(np.abs(y - exact) / np.maximum(np.abs(exact), 1e-12)))


def brenan(t: float, y: Floats, yp: Floats) -> Floats:
    """Linear, index 1, with a coefficient that depends on time (Brenan, Campbell and Petzold)."""
    return np.array([yp[0] - t * yp[1] + y[0] - (1.0 + t) * y[1], y[1] - np.sin(t)])


def robertson(t: float, y: Floats, yp: Floats) -> Floats:
    """Three reactions of very different speed; the sum is conserved."""
    slow, middle, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return np.array([yp[0] + slow - middle, yp[1] - slow + middle + fast, y[0] + y[1] + y[2] - 1.0])


def weissinger(t: float, y: Floats, yp: Floats) -> Floats:
    """Fully implicit: cubic in y'."""
    return t * y**2 * yp**3 - y**3 * yp**2 + t * (t**2 + 1.0) * yp - t**2 * y


def jay(t: float, y: Floats, yp: Floats) -> Floats:
    """Index 2 (Jay 1993)."""
    a, b, z = y
    return np.array([yp[0] - a * b**2 * z**2, yp[1] - a**2 * b**2 + 3.0 * b**2 * z, a**2 * b - 1.0])


def pendulum(t: float, y: Floats, yp: Floats) -> Floats:
    """Index 2: a mass on a rod, the constraint on velocities instead of that on positions."""
    p, q, u, v, force = y
    return np.array(
        [yp[0] - u, yp[1] - v, yp[2] + force * p, yp[3] + force * q + 9.81, p * u + q * v]
    )


WEISSINGER_END = float(np.sqrt(100.5))
JAY_END = [float(np.exp(1.0)), float(np.exp(-2.0)), float(np.exp(2.0))]

PROBLEMS = [
    Problem("Brenan", brenan, (0.0, 10.0), [1.0, 0.0], [-1.0, 1.0],
            [float(np.exp(-10.0) + 10.0 * np.sin(10.0)), float(np.sin(10.0))]),
    # Reference computation: Taylor series of order 24 with 25 digits.
    Problem("Robertson", robertson, (0.0, 4.0), [1.0, 0.0, 0.0], [-0.04, 0.04, 0.0],
            [0.9055186785842539, 2.240475687560194e-05, 0.09445891665887049]),
    Problem("Weissinger", weissinger, (1.0, 10.0), [float(np.sqrt(1.5))], [float(np.sqrt(1.0 / 1.5))],
            [WEISSINGER_END]),
    Problem("Jay", jay, (0.0, 1.0), [1.0, 1.0, 1.0], [1.0, -2.0, 2.0], JAY_END, ("Radau",)),
]

"""Linear models: A, B, C and D of a model of any index at a point.

>>> import daelight
>>> text = "model Lag input Real u; output Real y(start = 0); equation 0.5*der(y) = u - y; end Lag;"
>>> found = daelight.Model.from_source(text).linearize()
>>> found.A, found.B, found.poles
(array([[-2.]]), array([[2.]]), array([-2.+0.j]))
"""

from __future__ import annotations

import html
import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .documents import Document, LinearReport, folded, in_python
from .results import Floats

Complex = NDArray[np.complex128]

# Entries of a matrix that a notebook shows without a click.
_SHOWN_SIZE = 6


def _matrix(rows: Sequence[Sequence[float]], n_rows: int, n_columns: int) -> Floats:
    """A matrix of its rows, also where there are none."""
    return np.array(rows, dtype=float).reshape(n_rows, n_columns)


def _roots(found: Sequence[Document]) -> Complex:
    return np.array([complex(root["re"], root["im"]) for root in found], dtype=complex)


@dataclass(frozen=True, eq=False)
class Descriptor:
    """E dx' = A dx + B du of the equations as they are written: a row for each equation, a column for each unknown or input.

    Its coefficients are those of the point, so that it describes motions near a point at rest.
    `scipy.linalg.eigvals(found.A, found.E)` are the poles, and infinite ones for the constraints.

    >>> import daelight
    >>> found = daelight.example("pendulum").linearize().descriptor
    >>> found.unknowns, found.E.shape, found.B.shape
    (['x', 'y', 'vx', 'vy', 'lambda'], (5, 5), (5, 0))
    """

    unknowns: list[str]
    E: Floats
    A: Floats
    B: Floats


class Linearization:
    """The linear model of a model of any index at a point: dz' = A dz + B du, dy = C dz + D du.

    =====================  ========================================================================
    `A`, `B`, `C`, `D`     the matrices, for small changes of states, inputs and outputs
    `improper`             the coefficients of s, s^2, … in D(s); empty where the model is proper
    `states`               names of the unknowns whose changes are the states
    `inputs`, `outputs`    their names
    `poles`, `zeros`       complex numbers; `zeros` is None where they are not known
    `shifts`               what is taken off the states: coefficients of the inputs, of their rates, …
    `descriptor`           E, A and B of the equations as they are written
    `time`, `point`        where: values of all unknowns and inputs
    `at_rest`, `warnings`  whether the poles decide about stability, and what else to know
    `transfer(s)`          the transfer function at complex numbers
    `to_control()`         an object of python-control
    =====================  ========================================================================

    >>> import daelight
    >>> motor = daelight.Model.from_source('''model Motor "A motor with a gear: the gear is a constraint, index 3"
    ...   input Real u;
    ...   output Real w2(start = 0);
    ...   parameter Real R = 2, L = 0.05, k = 0.4, J1 = 0.01, J2 = 3, n = 10, d = 0.5;
    ...   Real i(start = 0), phi1, phi2(start = 0), w1, tau1, tau2;
    ... equation
    ...   u = R*i + L*der(i) + k*w1;
    ...   der(phi1) = w1;  der(phi2) = w2;
    ...   J1*der(w1) = k*i - tau1;  J2*der(w2) = tau2 - d*w2;
    ...   phi1 = n*phi2;  tau2 = n*tau1;
    ... end Motor;''')
    >>> found = motor.linearize()
    >>> found.states, found.inputs, found.outputs
    (['i', 'phi1', 'w1'], ['u'], ['w2'])
    >>> found.A[0]
    array([-40.,   0.,  -8.])
    >>> found.poles.real.round(4)
    array([  0.    ,  -2.2439, -37.8811])
    >>> found.is_proper
    True
    """

    def __init__(self, report: LinearReport) -> None:
        self.report = report
        """The document of `linearize --json`; `print` shows its page."""
        n, m, p = len(report.states), len(report.inputs), len(report.outputs)
        self.A = _matrix(report.a, n, n)
        self.B = _matrix(report.b, n, m)
        self.C = _matrix(report.c, p, n)
        powers = [_matrix(d, p, m) for d in report.d]
        self.D = powers[0]
        """What an output takes from an input at once; the part of D(s) without s."""
        self.improper: list[Floats] = powers[1:]
        self.shifts = [_matrix(part, n, m) for part in report.shifts]
        self.poles = _roots(report.poles)
        self.zeros = None if report.zeros is None else _roots(report.zeros)
        written = report.descriptor
        size = (len(written["e"]), len(written["unknowns"]))
        self.descriptor = Descriptor(
            list(written["unknowns"]),
            _matrix(written["e"], *size),
            _matrix(written["a"], *size),
            _matrix(written["b"], size[0], m),
        )

    @property
    def states(self) -> list[str]:
        """The unknowns whose changes are the states."""
        return list(self.report.states)

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs."""
        return list(self.report.inputs)

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        return list(self.report.outputs)

    @property
    def time(self) -> float:
        """The time of the point."""
        return self.report.time

    @property
    def point(self) -> dict[str, float]:
        """Values of all unknowns and inputs at the point."""
        return dict(self.report.point.items())

    @property
    def at_rest(self) -> bool:
        """Whether nothing moves at the point, so that the poles decide about stability."""
        return self.report.at_rest

    @property
    def warnings(self) -> list[str]:
        """What to know beside the numbers."""
        return [in_python(text) for text in self.report.warnings]

    @property
    def is_proper(self) -> bool:
        """Whether no output holds derivatives of inputs."""
        return not self.improper

    def transfer(self, s: ArrayLike) -> Complex:
        """C (s - A)^-1 B + D(s) at complex numbers: the shape of `s`, then outputs by inputs.

        >>> import daelight
        >>> text = "model Lag input Real u; output Real y(start = 0); equation 0.5*der(y) = u - y; end Lag;"
        >>> daelight.Model.from_source(text).linearize().transfer(2j).round(12)
        array([[0.5-0.5j]])
        """
        at = np.asarray(s, dtype=complex)[..., np.newaxis, np.newaxis]
        found: Complex = self.C @ np.linalg.solve(at * np.eye(len(self.A)) - self.A, self.B + 0j)
        for power, part in enumerate([self.D, *self.improper]):
            found = found + at**power * part
        return found

    def to_control(self) -> Any:
        """A `control.StateSpace` of python-control, with the names of states, inputs and outputs.

        python-control has no improper models: `ValueError` says what to do instead.

        >>> import daelight
        >>> text = "model Lag input Real u; output Real y(start = 0); equation 0.5*der(y) = u - y; end Lag;"
        >>> system = daelight.Model.from_source(text).linearize().to_control()
        >>> system.state_labels, system.input_labels, system.output_labels
        (['y'], ['u'], ['y'])
        """
        if self.improper:
            raise ValueError(
                "the model is improper: an output holds derivatives of inputs up to order "
                f"{len(self.improper)}, which python-control cannot hold. Put a filter of that order before the input "
                "(`T*der(v) + v = u` is one of order 1), choose other outputs, or use `transfer(s)`, `improper` or `descriptor`"
            )
        try:
            control: Any = importlib.import_module("control")
        except ImportError as error:
            raise ImportError("`to_control` needs python-control: pip install control") from error
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        # An empty list would stand for names of python-control's own.
        given = {what: list_ for what, list_ in names.items() if list_}
        return control.StateSpace(self.A, self.B, self.C, self.D, remove_useless_states=False, **given)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.report,))

    def __str__(self) -> str:
        return str(self.report)

    def __repr__(self) -> str:
        return f"<daelight.Linearization: {str(self.report).split(chr(10), 1)[0]}>"

    def _repr_html_(self) -> str:
        rates = [f"der({name})" for name in self.states]
        shown: list[tuple[str, Floats, list[str], list[str]]] = [
            ("A", self.A, rates, self.states),
            ("B", self.B, rates, self.inputs),
            ("C", self.C, self.outputs, self.states),
        ]
        for power, part in enumerate([self.D, *self.improper]):
            title = ["D", "D, times s"][power] if power < 2 else f"D, times s^{power}"
            shown.append((title, part, self.outputs, self.inputs))
        parts = [f"<p>{html.escape(str(self.report).split(chr(10), 1)[0])}</p>"]
        parts += [_table(*one) for one in shown if one[1].size]
        if self.poles.size:
            parts.append(f"<p>poles: {_numbers(self.poles)}</p>")
        if self.zeros is not None:
            parts.append(f"<p>zeros: {_numbers(self.zeros) or 'none'}</p>")
        parts += [f"<p><small>{html.escape(text)}</small></p>" for text in self.warnings]
        return "".join(parts)


def _numbers(values: Complex) -> str:
    def one(value: complex) -> str:
        sign = "+" if value.imag > 0 else "-"
        return f"{value.real:.6g}" + (f" {sign} {abs(value.imag):.6g}i" if value.imag else "")

    return ", ".join(one(value) for value in values.tolist())


def _table(title: str, matrix: Floats, rows: list[str], columns: list[str]) -> str:
    """A matrix with its names, open where it is small."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        + "".join(f"<td>{value:.6g}</td>" for value in values)
        + "</tr>"
        for name, values in zip(rows, matrix.tolist())
    )
    table = f"<div style='overflow-x:auto'><table><tr><th></th>{head}</tr>{body}</table></div>"
    return folded(title, table, is_open=max(matrix.shape) <= _SHOWN_SIZE)


def linearization(text: str, page: str) -> Linearization:
    """A linear model of the answer of the compiled half."""
    return Linearization(LinearReport(json.loads(text), page))

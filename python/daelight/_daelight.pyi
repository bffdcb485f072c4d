"""The compiled half of daelight. Use the package `daelight` instead."""

import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__version__: str
FAN_LEVELS: list[float]

Floats = NDArray[np.float64]
Arrays = tuple[Floats, Floats, Floats]

def built_in_models() -> list[tuple[str, str]]: ...
def explanation(word: str) -> tuple[str, list[str], str] | None: ...
def command(words: Sequence[str]) -> int: ...
def write_whole(path: str | os.PathLike[str], text: str) -> None: ...
def picture(
    title: str,
    x_label: str,
    panels: Sequence[tuple[str, Sequence[tuple[str, Sequence[float], Sequence[float]]]]],
    marks: Sequence[tuple[float, str]],
    dark: bool,
) -> str: ...
def fan_picture(
    title: str, times: Sequence[float], rows: Sequence[tuple[str, Sequence[Sequence[float]]]], dark: bool
) -> str: ...

def linearize(
    model: Model,
    inputs: Sequence[str],
    outputs: Sequence[str],
    asked: tuple[float | None, Sequence[tuple[str, float]], bool, float | None],
    /,
) -> tuple[str, str]: ...

class Model:
    file: str
    text: str
    name: str
    comment: str
    unknowns: list[str]
    inputs: list[str]
    equations: list[str]
    parameters: list[tuple[str, float]]
    experiment: tuple[float | None, float | None, float | None, float | None]
    recipe: tuple[str | None, list[str], str | None, list[str]]
    @staticmethod
    def from_source(
        text: str,
        name: str,
        class_name: str | None = None,
        parameters: Sequence[str] = ...,
        stop_when: str | None = None,
        free: Sequence[str] = ...,
    ) -> Model: ...
    @staticmethod
    def load(model: str, class_name: str | None = None) -> Model: ...
    def with_parameters(
        self, parameters: Sequence[str], stop_when: str | None = None, free: Sequence[str] = ...
    ) -> Model: ...
    def equations_mathml(self, most: int) -> list[str | None]: ...
    def check(self) -> str: ...
    def derive(self, scalar: bool, base: bool) -> str: ...
    def gradient(
        self,
        loss: str | None,
        samples: list[tuple[float, str, float]],
        names: list[str] | None,
        start: float | None = None,
        to: float | None = None,
        rtol: float | None = None,
    ) -> tuple[float, list[tuple[str, float]], list[str]]: ...
    def analyze(
        self,
        at: float | None = None,
        point: Sequence[tuple[str, float]] = ...,
        interval: tuple[float, float] | None = None,
        projectors: bool = False,
        eigenvalues: bool = False,
        budget: float | None = None,
    ) -> tuple[str, str]: ...
    def init(
        self,
        at: float | None = None,
        point: Sequence[tuple[str, float]] = ...,
        order: int = 1,
        all: bool = False,
        nearest_regular: bool = False,
        budget: float | None = None,
    ) -> tuple[str, str]: ...
    def reduce(
        self, method: str, form: str, at: float | None, budget: float | None
    ) -> str: ...
    def singular(
        self,
        parameters: Sequence[str] | None,
        locked: Sequence[str],
        curves: bool,
        time_budget: float,
        /,
    ) -> tuple[str, str]: ...
    def report(
        self,
        to: float | None,
        rtol: float | None,
        continues: bool,
        with_run: bool,
        time_budget: float,
    ) -> str: ...
    def sweep(
        self,
        names: Sequence[str],
        rows: Sequence[Sequence[float]],
        measures: Sequence[str],
        from_: float | None,
        to: float | None,
        rtol: float | None,
        n_threads: int | None,
        /,
    ) -> list[tuple[list[tuple[float | None, str | None]], str]]: ...
    def solve_many(
        self,
        names: Sequence[str],
        rows: Floats,
        times: Floats,
        span: tuple[float | None, float | None],
        rtol: float | None,
        n_threads: int | None,
        /,
    ) -> tuple[Floats, list[str], list[str], list[str]]: ...
    def solve(
        self,
        from_: float | None,
        to: float | None,
        rtol: float | None,
        atol: float | None,
        method: str | None,
        continues: bool,
        order: int | None,
        max_steps: int | None,
        budget: float | None,
        point: Sequence[tuple[str, float]],
        times: Floats | None,
        inputs: Sequence[tuple[str, Sequence[float], Sequence[float]]] = ...,
        rests: bool = False,
        /,
    ) -> Run: ...
    def frames(
        self, run: Run, times: Sequence[float]
    ) -> tuple[list[list[list[list[float]]]], list[list[bool]]] | None: ...
    def feedforward(
        self, forward: Model, to: float | None, rtol: float | None
    ) -> tuple[str, str, list[str], list[tuple[float, list[float]]]]: ...

class Run:
    names: list[str]
    model: str
    t: Floats
    span: tuple[float, float]
    elapsed: float
    def y(self) -> Floats: ...
    def yp(self) -> Floats: ...
    def at(self, times: Floats, derivative: bool) -> Floats: ...
    def curve(self, times: Sequence[float]) -> tuple[Floats, Floats]: ...
    def document(self) -> str: ...
    def page(self) -> str: ...

class Polynomials:
    ts: list[float]
    def at(self, times: Floats) -> tuple[Floats, Floats]: ...

def integrate_residual(
    fun: Callable[[float, Floats, Floats], object],
    span: tuple[float, float],
    y0: Floats,
    yp0: Floats,
    method: str,
    rtol: float,
    atol: Sequence[float],
    times: Sequence[float] | None,
    dense: bool,
    jac: Callable[[float, Floats, Floats], object] | None,
    sparsity: Sequence[bool] | None,
    steps: tuple[float | None, float | None, int],
    indices: Sequence[int] | None,
    events: Sequence[tuple[Callable[[float, Floats, Floats], object], int | None, float]],
) -> tuple[
    Arrays,
    Polynomials | None,
    list[Arrays],
    tuple[int, int, int],
    tuple[int, str],
    list[int],
]: ...

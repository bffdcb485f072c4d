"""Sweeps give the same columns whoever does the work."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any
from xml.etree import ElementTree

import multiprocessing

import numpy as np
import pytest

import daelight

GRID = {"L": np.linspace(0.5, 2.0, 6), "g": [1.0, 9.81]}
MEASURES = ["status", "final:y", "max:x", "index"]


@pytest.fixture(scope="module")
def local() -> daelight.SweepResult:
    return daelight.example("pendulum").sweep(GRID, MEASURES, t_span=(0, 0.5))


def test_columns(local: daelight.SweepResult) -> None:
    assert list(local) == ["L", "g", *MEASURES] and local.n_points == 12
    assert local["L"][:3].tolist() == [0.5, 0.5, 0.8] and local["g"][:2].tolist() == [1.0, 9.81]
    assert set(local["status"]) == {"success"} and set(local["index"]) == {3.0}
    single = daelight.example("pendulum").with_parameters(L=0.5, g=1).solve((0, 0.5))
    assert local["final:y"][0] == pytest.approx(single["y"][-1], rel=1e-12)
    assert list(local.to_dataframe().columns)[-1] == "reason"


def test_a_point_that_fails_is_a_row_with_its_reason() -> None:
    found = daelight.example("pendulum").sweep([{"L": 1.0}, {"L": -1.0}, {"L": 0.0}], MEASURES, t_span=(0, 0.1))
    assert found["status"][0] == "success" and found.reasons[0] == ""
    assert found.reasons[2] and found["status"][2] != "success"
    with pytest.raises(ValueError, match="no measure"):
        daelight.example("pendulum").sweep(GRID, ["speed"])
    with pytest.raises(daelight.ModelError, match="unknown"):
        daelight.example("pendulum").sweep(GRID, ["final:q"])
    with pytest.raises(daelight.ModelError):
        daelight.example("pendulum").sweep({"length": [1.0]}, ["status"])


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_executors_of_the_standard_library(local: daelight.SweepResult, kind: str) -> None:
    pool: Any
    if kind == "threads":
        pool = ThreadPoolExecutor(2)
    else:
        pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    with pool as executor:
        other = daelight.example("pendulum").sweep(GRID, MEASURES, t_span=(0, 0.5), executor=executor, chunk=3)
    assert other.equals(local)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        yield client


def test_dask(local: daelight.SweepResult, client: Any) -> None:
    other = daelight.example("pendulum").sweep(GRID, MEASURES, t_span=(0, 0.5), executor=client, chunk=2)
    assert other.equals(local)


def test_a_worker_that_is_killed_loses_nothing(client: Any) -> None:
    import threading

    pendulum = daelight.example("pendulum")
    grid = {"L": np.linspace(0.5, 2.0, 300)}
    pids = client.run(os.getpid)
    victim = list(pids.values())[0]

    def kill() -> None:
        time.sleep(0.2)
        os.kill(victim, signal.SIGKILL)

    threading.Thread(target=kill).start()
    other = pendulum.sweep(grid, ["status", "final:x"], t_span=(0, 2), executor=client, chunk=5)
    assert other.equals(pendulum.sweep(grid, ["status", "final:x"], t_span=(0, 2)))


def test_many_runs_are_single_runs() -> None:
    swing = daelight.example("pendulum")
    lengths = np.random.default_rng(3).uniform(0.5, 2.0, 12)
    times = np.linspace(0.0, 1.0, 5)
    runs = swing.solve_many({"L": lengths, "g": np.full(12, 9.0)}, t_span=(0, 1), t_eval=times)
    assert runs.y.shape == (12, 5, 5) and set(runs.status) == {"success"} and not any(runs.reasons)
    for length, y in zip(lengths, runs.y):
        single = swing.with_parameters(L=length, g=9.0).solve((0, 1), t_eval=times)
        np.testing.assert_allclose(y, single.y, rtol=1e-11, atol=1e-11)
    low, middle, high = runs.bands("x")
    assert (low <= middle).all() and (middle <= high).all()
    np.testing.assert_allclose(middle[0], np.median(lengths))


def test_a_fan_shows_the_quantiles() -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    runs = daelight.example("pendulum").solve_many({"L": np.linspace(0.9, 1.1, 9)}, t_span=(0, 1))
    assert runs.points["L"].tolist() == np.linspace(0.9, 1.1, 9).tolist()
    svg = runs.plot("x", "y").svg
    ElementTree.fromstring(svg)
    assert "median" in svg and "5 to 95 %" in svg
    assert "9 runs: 9 success" in runs._repr_html_()
    with pytest.raises(KeyError, match="not an unknown"):
        runs.plot("q")
    figure, axes = plt.subplots()
    runs.plot("x", ax=axes)
    (line,) = axes.get_lines()
    np.testing.assert_allclose(np.asarray(line.get_ydata()), runs.bands("x")[1])
    assert len(axes.collections) == 2
    plt.close(figure)


def test_a_run_that_fails_has_no_values() -> None:
    runs = daelight.example("pendulum").solve_many({"L": [1.0, 0.0]}, t_span=(0, 0.1), t_eval=[0.0, 0.1])
    assert runs.status[0] == "success" and np.isfinite(runs.y[0]).all()
    assert runs.status[1] != "success" and runs.reasons[1] and np.isnan(runs.y[1]).all()
    with pytest.raises(ValueError, match="one length"):
        daelight.example("pendulum").solve_many({"L": [1.0, 2.0], "g": [1.0]})
    with pytest.raises(daelight.ModelError):
        daelight.example("pendulum").solve_many({"length": [1.0]})
    with pytest.raises(KeyError, match="not an unknown"):
        runs["q"]


def test_models_with_events_and_expressions() -> None:
    ball = daelight.Model.from_source(
        """model Ball
          parameter Real e = 0.8;
          Real h(start = 1, fixed = true), v(start = 0, fixed = true);
          Integer n(start = 0, fixed = true);
        equation
          der(h) = v;  der(v) = -9.81;
          when h <= 0 then
            reinit(v, -e*pre(v));
            n = pre(n) + 1;
          end when;
        end Ball;"""
    )
    bounces = [0.7, 0.8]
    found = ball.sweep({"e": bounces}, ["final:v + 9.81*time", "final:n", "max:2*h"], t_span=(0, 1))
    first, speed = np.sqrt(2 / 9.81), np.sqrt(2 * 9.81)
    np.testing.assert_allclose(found["final:v + 9.81*time"], np.array(bounces) * speed + 9.81 * first, rtol=1e-9)
    assert found["final:n"].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(found["max:2*h"], 2.0)
    runs = ball.solve_many({"e": bounces}, t_span=(0, 1), t_eval=[0.0, 0.3, 0.9])
    assert runs.names == ["h", "v", "n"]
    np.testing.assert_allclose(runs["v"][:, 2], np.array(bounces) * speed - 9.81 * (0.9 - first), rtol=1e-9)
    np.testing.assert_allclose(runs["n"], [[0.0, 0.0, 1.0]] * 2)

"""Sweeps give the same columns whoever does the work."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

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
    assert local["final:y"][0] == single["y"][-1]
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

"""A sweep of 10,000 pendulum runs: here, on a Dask cluster of one and of two processes, and with a worker killed on the way.

    pip install distributed
    python python/bench/cluster.py [number of points]
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as np

import daelight

MEASURES = ("status", "final:x", "final:y")


def sweep(n: int, executor: Any = None) -> tuple[float, daelight.SweepResult]:
    grid = {"L": np.linspace(0.5, 2.0, n)}
    begin = time.perf_counter()
    found = daelight.example("pendulum").sweep(grid, MEASURES, t_span=(0.0, 10.0), executor=executor, chunk=100)
    return time.perf_counter() - begin, found


def main() -> None:
    from distributed import Client, LocalCluster

    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seconds, local = sweep(n)
    print(f"here, {os.cpu_count()} threads: {seconds:.1f} s")
    times = {}
    for workers in (1, 2):
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            client.run(lambda: __import__("daelight"))
            times[workers], found = sweep(n, client)
            print(f"Dask, {workers} processes: {times[workers]:.1f} s; bit for bit the same: {found.equals(local)}")
            if workers == 2:
                victim = next(iter(client.run(os.getpid).values()))
                threading.Timer(0.3 * times[2], os.kill, (victim, signal.SIGKILL)).start()
                seconds, found = sweep(n, client)
                print(f"the same with a worker killed: {seconds:.1f} s; bit for bit the same: {found.equals(local)}")
    print(f"speed-up on 2 processes: {times[1] / times[2]:.2f}")


if __name__ == "__main__":
    main()

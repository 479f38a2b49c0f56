"""A sweep of runs of 2 s each on two workers; beside it two warm processes. Wall seconds.

    two processes       each calls `minusgrad.run` on its points, one after another, and writes no table
    minusgrad           the sweep on two workers of Dask that have started, as the two processes have
    and its workers     the whole sweep, with the start and the end of its workers

The points are two bodies with other softenings, a thread each. The answer is the energy of each at its end.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import minusgrad
from minusgrad.engine import runtime
from minusgrad.sweeps.workers import local_workers

from .harness import session
from .harness.cases import OURS, Call, Case, Clocked, Column, Goal
from .harness.process import ROOT

PROCESSES, WHOLE = "two processes", "and its workers"
SCENE = ROOT / "scenes" / "two_body.toml"
STEPS = 16_000_000
"""They take 2 s."""
NUMBERS = count()


def cases() -> Iterator[Case]:
    yield case(2, 20_000) if session.quick() else case(10, STEPS)


def case(points: int, steps: int) -> Case:
    """So many points of so many steps."""
    return Case(
        "sweep",
        f"{points}",
        "",
        {
            PROCESSES: Column(lambda: in_processes(points, steps)),
            OURS: Column(lambda: on_warm_workers(points, steps)),
            WHOLE: Column(lambda: whole(points, steps)),
        },
        expected=None,
        count=points,
        unit="ms a point",
        base=PROCESSES,
        goals=(Goal(PROCESSES, 1.05),),
        about={"points": points, "steps": steps},
    )


def softenings(points: int) -> list[float]:
    return np.linspace(0.01, 0.02, points).tolist()


def overrides(steps: int) -> dict[str, Any]:
    looks = {f"observe.{k}.every": max(steps // 800, 1) for k in range(3)}
    return {"run.steps": steps, "runtime.threads": 1, "checkpoint.every": 0} | looks


class Points:
    """A sweep of the points into a folder that is new each time."""

    def __init__(self, points: int, steps: int):
        self.points, self.steps = points, steps
        self.home = Path(tempfile.mkdtemp(prefix="minusgrad-bench-"))

    def folder(self) -> Path:
        return self.home / f"{next(NUMBERS)}"

    def swept(self, points: int, **where: Any) -> np.ndarray:
        """The energies at the end of a sweep."""
        vary = {"gravity.softening": {"list": softenings(points)}}
        out = self.folder()
        table = minusgrad.sweep(SCENE, {"vary": vary}, overrides(self.steps), out, **where)
        shutil.rmtree(out)
        return table.column("total")


def on_warm_workers(points: int, steps: int) -> Call:
    """`minusgrad.sweep(cluster=...)`"""
    sweep = Points(points, steps)
    started = local_workers(2, 0, runtime.engine_name())
    address = started.__enter__().client.scheduler.address
    sweep.swept(2, cluster=address)

    def call() -> Clocked:
        began = time.perf_counter()
        found = sweep.swept(points, cluster=address)
        return Clocked(time.perf_counter() - began, found)

    call.keep = started  # type: ignore[attr-defined]
    return call


def whole(points: int, steps: int) -> Call:
    """`minusgrad.sweep(workers=2)`"""
    sweep = Points(points, steps)

    def call() -> Clocked:
        began = time.perf_counter()
        found = sweep.swept(points, workers=2)
        return Clocked(time.perf_counter() - began, found)

    return call


def in_processes(points: int, steps: int) -> Call:
    """`minusgrad.run` in a loop, in each of two processes that have started and run one point before."""
    sweep = Points(points, steps)
    pool = get_context("spawn").Pool(2)
    given = softenings(points)
    halves = [given[0::2], given[1::2]]
    warm = [(half[:1], steps, str(sweep.home / f"warm-{k}")) for k, half in enumerate(halves)]
    pool.starmap(in_a_loop, warm, chunksize=1)

    def call() -> Clocked:
        out = sweep.folder()
        work = [(half, steps, str(out / f"{k}")) for k, half in enumerate(halves)]
        began = time.perf_counter()
        first, second = pool.starmap(in_a_loop, work, chunksize=1)
        seconds = time.perf_counter() - began
        shutil.rmtree(out)
        found = np.empty(points)
        found[0::2], found[1::2] = first, second
        return Clocked(seconds, found)

    call.keep = pool  # type: ignore[attr-defined]
    return call


def in_a_loop(values: list[float], steps: int, out: str) -> list[float]:
    """The energies at the end of runs, one after another."""
    found = []
    for k, value in enumerate(values):
        given = overrides(steps) | {"energy.0.softening": value}
        run = minusgrad.run(SCENE, given, Path(out) / f"{k}")
        found.append(float(run.series("observables/total").value[-1]))
    return found

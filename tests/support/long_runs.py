"""A run of many saves without physics: four series of different rhythms."""

import numpy as np

from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.h5md import Raster
from minusgrad.files.run_folder import RECORDER, RunDir
from minusgrad.files.trajectory import Recorder

KEEP = 3
SERIES = ("particles/all/position", "observables/total", "cells/bonds/stress", "grids/canvas/dose")


def recorder() -> Recorder:
    bonds = {"bonds": np.array([[0, 1], [1, 2]])}
    grids = {"canvas": Raster((2, 3), 0.5, ("mm", 1e-3))}
    return Recorder({"position": ("m", 1.0), "total": ("J", 1.0)}, ("s", 1.0), bonds, ("bonds",), grids)


def record(to: Recorder, step: int) -> None:
    """Four series of different rhythms."""
    t = 0.1 * step
    to.record_observables(step, t, {"total": np.sin(step)})
    if step % 2 == 0:
        to.record_frame(step, t, {"position": np.full((3, 2), step) + 0.5})
    if step % 3 == 0:
        to.record_cells(step, t, "bonds", {"stress": np.float32([step, -step])})
    if step % 7 == 0:
        to.record_grid(step, t, "canvas", {"dose": np.arange(6.0) * step})


def moment(step: int) -> Snapshot:
    return Snapshot(step, 0.1 * step, 0.1, {"fields/x": np.full(2, step)})


def simulate(run: RunDir, rows: Recorder, begin: int, end: int) -> None:
    """A save at each step."""
    for step in range(begin + 1, end + 1):
        record(rows, step)
        run.save(moment(step), rows, KEEP)


def started(path) -> RunDir:
    run = RunDir.create(path, b"", [])
    run.save(moment(0), recorder(), KEEP)
    return run


def go_on(path, end: int) -> list[str]:
    with RunDir.open(path) as run:
        snapshot, remarks = run.restore()
        rows = recorder()
        rows.restore(snapshot.arrays_under(RECORDER))
        remarks += run.tidy(KEEP)
        simulate(run, rows, snapshot.step, end)
    return remarks


def files(path) -> dict[str, bytes]:
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name != "journal.jsonl")
    return {str(p.relative_to(path)): p.read_bytes() for p in found}

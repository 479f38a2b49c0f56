"""Run folders with given series, for what reads them."""

import numpy as np

from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder

T = np.linspace(0, 6, 40)
UNITS = {
    "position": ("AU", 1.5e11),
    "phi": ("rad", 1.0),
    "energy_density": ("J m^-3", 1.0),
    "residual": ("N", 1),
    "dose": ("J m^-2", 1.0),
    "power": ("W", 1.0),
}


def recorded_run(
    path, frames=None, observables=None, meta=None, times=T, lists=None, cells=None, rasters=None, grids=None
):
    """A finished run: frames label -> (T, N, ...), observables name -> (T,), cells LIST/LABEL -> (T, E).

    grids GRID/LABEL -> (T, *shape), of these rasters.
    """
    recorder = Recorder(UNITS, ("yr", 3e7), lists, tuple(lists or ()), rasters)
    with RunDir.create(path, b"", []) as run:
        for step, time in enumerate(times):
            recorder.record_frame(step, time, {label: x[step] for label, x in (frames or {}).items()})
            recorder.record_observables(
                step, time, {name: y[step] for name, y in (observables or {}).items()}
            )
            for name, values in (cells or {}).items():
                tuples, label = name.split("/", 1)
                recorder.record_cells(step, time, tuples, {label: values[step]})
            for name, values in (grids or {}).items():
                grid, label = name.split("/", 1)
                recorder.record_grid(step, time, grid, {label: values[step]})
            if step in (15, len(times) - 1):
                run.save(Snapshot(step, time, 0.1, {}, meta=meta or {}), recorder, keep=2)
    return path

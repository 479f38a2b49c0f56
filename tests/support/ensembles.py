"""Small scenes with members: two bodies, and springs that a minimiser relaxes."""

from pathlib import Path

import numpy as np

from minusgrad.app.results.ensemble_run import EnsembleRun
from minusgrad.app.runs import run
from minusgrad.files import trajectory
from minusgrad.files.h5md import OBSERVABLES

TWO_BODIES = """
title = "Two bodies"
plugins = ["gravity"]
units = { system = "dimensionless" }
runtime = { seed = 7, threads = 1 }
run = { steps = 12 }
stepper = { kind = "leapfrog", dt = 0.01 }
checkpoint = { every = 4 }

[state]
kind = "two_body"
masses = [0.75, 0.25]
semi_major_axis = 1.0
eccentricity = 0.3
G = 1.0

[[energy]]
kind = "gravity"
G = 1.0

[[observe]]
kind = "energies"
every = 2

[[observe]]
kind = "frames"
every = 3

[ensemble]
members = 16

[ensemble.vary]
"gravity.G" = { normal = [1.0, 0.01] }
"state.x" = { jitter = 1e-3 }
"""


def written(folder: Path, text: str = TWO_BODIES) -> Path:
    """The scene as a file."""
    path = folder / "scene.toml"
    path.write_text(text)
    return path


def ensemble(scene: Path, out: Path, *overrides: str) -> EnsembleRun:
    """Run all members, or the one that an override names."""
    done = run(scene, overrides, out)
    assert isinstance(done, EnsembleRun)
    return done


def rows_of(folder: Path, name: str, count: int, row: int) -> np.ndarray:
    """The rows of one member of a series (T, ...)."""
    values = trajectory.series(folder, name).value
    if name.startswith(f"{OBSERVABLES}/"):
        return values[:, row]
    return values.reshape(len(values), count, -1, *values.shape[2:])[:, row]


def unlike(alone: Path, folder: Path, count: int, row: int) -> list[str]:
    """The series of a member that ran alone whose bits, or steps, are not those within an ensemble."""
    found = []
    for name in trajectory.names(alone):
        one, all_ = trajectory.series(alone, name), trajectory.series(folder, name)
        same = one.value.tobytes() == rows_of(folder, name, count, row).tobytes()
        if not (same and np.array_equal(one.step, all_.step) and np.array_equal(one.time, all_.time)):
            found.append(name)
    return found

"""A state of 128 MB on its way to disk, in ms: ours beside a bare write by h5py.

    h5py           one dataset, closed: neither hashed nor waited for
    minusgrad      a checkpoint: hashed as a file and as content, on disk under its name when the clock stops
    the run waits  what of that a run feels, which goes on beside it: the copy

What comes back is read from the file, after the clock has stopped.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import h5py
import numpy as np

from minusgrad.files import checkpoint
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.writer import Writer

from .harness import session
from .harness.cases import OURS, Call, Case, Clocked, Column, Goal

BARE, WAITS = "h5py", "the run waits"
HEAD = 1000


def cases() -> Iterator[Case]:
    """One state of 16 million numbers."""
    count = 1 << (16 if session.quick() else 24)
    state = np.random.default_rng(0).random(count)
    makers = {BARE: _bare, OURS: _saved, WAITS: _waits}
    yield Case(
        "saving",
        f"{state.nbytes >> 20}MB",
        "f64",
        {name: Column(partial(_written, how, state)) for name, how in makers.items()},
        expected=lambda: state[:HEAD],
        base=BARE,
        goals=(Goal(BARE, 4.0), Goal(BARE, 4.0, column=WAITS)),
    )


def _written(how: Callable[[Path, np.ndarray], Path | float], state: np.ndarray) -> Call:
    folder = tempfile.TemporaryDirectory(prefix="minusgrad-bench-")

    def call() -> Clocked:
        begin = time.perf_counter()
        seconds = how(Path(folder.name), state)
        took = seconds if isinstance(seconds, float) else time.perf_counter() - begin
        (path,) = Path(folder.name).glob("*.h5")
        with h5py.File(path) as file:
            name = "x" if "x" in file else "arrays/fields/x"
            head = file[name][:HEAD]
        path.unlink()
        return Clocked(took, head)

    call.keep = folder  # type: ignore[attr-defined]
    return call


def _bare(folder: Path, state: np.ndarray) -> Path:
    with h5py.File(folder / "bare.h5", "w") as file:
        file["x"] = state
    return folder


def _saved(folder: Path, state: np.ndarray) -> Path:
    return checkpoint.save(folder, Snapshot(1, 0.0, 0.0, {"fields/x": state}))


def _waits(folder: Path, state: np.ndarray) -> float:
    with Writer() as writer:
        begin = time.perf_counter()
        copy = state.copy()
        writer.begin(lambda: _nothing(_saved(folder, copy)))
        return time.perf_counter() - begin


def _nothing(path: Path) -> None:
    """A job has no answer."""

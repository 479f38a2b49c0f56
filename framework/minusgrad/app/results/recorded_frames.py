"""Frames of a run for files that other programs read: positions, box, and arrays over nodes and tuples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CheckpointError, UserError
from ...files import checkpoint, h5md, trajectory
from ...files.checkpoint import Snapshot
from ...files.frames import series_names
from ...files.frames.looks import ListLook
from ...files.run_folder import RunDir
from ...plot import views
from ...plot.movies.reel import Reel
from ..ensembles.saved_ensemble import SavedEnsemble


@dataclass(frozen=True)
class Frame:
    """One recorded state: of_nodes (N, ...) and of_tuples (E, ...) by the names of their series.

    position: (N, 3), with zeros for the missing coordinates. edges: the edge vectors of the box in rows,
    (d, d); None without one.
    """

    step: int
    time: float
    position: np.ndarray
    edges: np.ndarray | None
    arrays: Mapping[str, np.ndarray]


class RecordedFrames:
    """The frames of a run with positions, and of other series the newest row at each of their steps.

    names: other series over nodes, or over tuples (default: all of them). step: the frame of this step
    alone, or the last one before it. every: one of so many frames, and the last. Raises `UserError` for a run
    without positions, for series over grids and observables, for an ensemble and for a step before the first
    frame; `RunFolderError` if the folder is not a run.
    """

    def __init__(self, run: Path, names: Sequence[str] = (), step: int | None = None, every: int = 1):
        RunDir.open(run, read_only=True)
        if every < 1:
            raise UserError(f"export: every so many frames must be at least 1, got {every}; see --every")
        if SavedEnsemble.or_none(run):
            raise UserError(f"{run}: has frames of all members; export one by `--member N`, then its folder")
        known = trajectory.names(run)
        if h5md.POSITION not in known:
            there = ", ".join(series_names.shortest_names(known)) or "none"
            raise UserError(f"{run}: has no recorded positions, which a frame needs (there are: {there})")
        self.run = run
        self.names = self._chosen(names, known)
        self._boxed = [h5md.EDGES] if h5md.EDGES in known else []
        self._reel = Reel(run, [h5md.POSITION, *self._boxed, *self.names], every, recorded=True)
        if step is not None:
            before = self._reel.steps[self._reel.steps <= step]
            if not len(before):
                first = self._reel.steps[0]
                raise UserError(f"{run}: its first frame is that of step {first}, got --step {step}")
            self._reel.steps = before[-1:]

    def __len__(self) -> int:
        return len(self._reel)

    def __iter__(self) -> Iterator[Frame]:
        for step, time, (position, *others) in self._reel:
            edges = others.pop(0) if self._boxed else None
            arrays = dict(zip(self.names, others, strict=True))
            yield Frame(step, time, in_space(position), edges, arrays)

    @cached_property
    def periodic(self) -> tuple[bool, bool, bool]:
        """Whether the box repeats along each axis."""
        found = next(
            (p for p in trajectory.read_each_segment(self.run, lambda file, _: h5md.periodic_in(file)) if p),
            (),
        )
        x, y, z = [*found, False, False, False][:3]
        return x, y, z

    @cached_property
    def dimension(self) -> int:
        """The number of coordinates of a position."""
        return views.dimension(self.run, [h5md.POSITION])

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The newest checkpoint; None where no undamaged one is."""
        path, _ = checkpoint.newest(self.run / "ckpt")
        try:
            return None if path is None else checkpoint.load(path)
        except CheckpointError:
            return None

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts of that checkpoint; empty without one."""
        return {} if self.snapshot is None else self.snapshot.meta

    @property
    def node_names(self) -> list[str]:
        """The names of the nodes; empty if they have none."""
        return list(self.facts.get("names") or ())

    @cached_property
    def lists(self) -> dict[str, np.ndarray]:
        """The recorded lists of tuples (E, k), by name."""
        return trajectory.connectivity(self.run)

    @cached_property
    def looks(self) -> dict[str, ListLook]:
        """What the elements of lists look like, by list."""
        return trajectory.looks(self.run)

    def unit(self, name: str) -> str:
        """The unit symbol of a series; "" of a plain number."""
        symbol = trajectory.symbols(self.run, name)[0]
        return "" if symbol == "1" else symbol

    @property
    def time_unit(self) -> str:
        """The unit symbol of times; "" if they are plain numbers."""
        symbol = trajectory.symbols(self.run, h5md.POSITION)[1]
        return "" if symbol == "1" else symbol

    def _chosen(self, names: Sequence[str], known: Sequence[str]) -> list[str]:
        able = [n for n in known if h5md.is_of_nodes(n) or h5md.list_of(n)]
        if not names:
            return [name for name in able if name != h5md.POSITION]
        found = [series_names.find_series(self.run, name, known) for name in names]
        for name in found:
            if name not in able:
                raise UserError(f"{name}: has no value for each node or tuple, which a frame has; use CSV")
        return [name for name in found if name != h5md.POSITION]


def in_space(vectors: np.ndarray) -> np.ndarray:
    """Vectors (N, d), or numbers (N,) along x, in three dimensions, with zeros for the missing components."""
    vectors = vectors[:, None] if vectors.ndim == 1 else vectors
    return np.pad(vectors, ((0, 0), (0, 3 - vectors.shape[1]))) if vectors.shape[1] < 3 else vectors

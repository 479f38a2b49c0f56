"""The members of a run folder at its newest checkpoint: varied values, failures, ends; rows of one member."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...assembly.ensembles.marks import BOXES, POINTS, End, Failure, read_marks
from ...assembly.ensembles.statistics import is_statistic
from ...errors import RunFolderError, UserError
from ...files import checkpoint
from ...files.checkpoint import Snapshot
from ...files.h5md import EDGES, OBSERVABLES, Raster
from ...files.node_ranges import members
from ...files.run_folder import RunDir


class SavedEnsemble:
    """An ensemble in a run folder. Raises `RunFolderError` for a folder without one.

    count: its members, `numbers` theirs, which a shard does not count from 0. nodes: those of one member.
    points: the varied values by key, (M, *shape) each.
    """

    def __init__(self, path: Path):
        self.path, self.folder = path, RunDir.open(path, read_only=True)
        newest, remarks = checkpoint.newest(path / "ckpt")
        if newest is None:
            raise RunFolderError(
                "\n".join([f"{path}: has no usable checkpoint; run the scene again", *remarks])
            )
        self.snapshot: Snapshot = checkpoint.load(newest)
        size = self.snapshot.meta.get("ensemble")
        if not isinstance(size, Mapping) or "members" not in size:
            raise RunFolderError(f"{path}: is not an ensemble; give the folder of a scene with [ensemble]")
        self.size: Mapping[str, Any] = size
        self.numbers = members(self.snapshot)
        self.count, self.nodes = len(self.numbers), int(size["nodes"])
        self.points = self.snapshot.arrays_under(POINTS)
        self.units = {key: self.snapshot.units.get(f"{POINTS}/{key}", "") for key in self.points}
        found = read_marks(self.snapshot.arrays_under("stepper"))
        self.failures: dict[int, Failure] = found[0]
        self.ends: dict[int, End] = found[1]

    @classmethod
    def or_none(cls, path: Path) -> "SavedEnsemble | None":
        """The ensemble of a run folder; None of another run, or one without a checkpoint."""
        newest, _ = checkpoint.newest(path / "ckpt")
        if newest is None or "members" not in (checkpoint.load(newest).meta.get("ensemble") or {}):
            return None
        return cls(path)

    def row(self, number: int) -> int:
        """The row of a member in all arrays. Raises `UserError` for a number that none has."""
        if number not in self.numbers:
            there = f"{self.numbers[0]} to {self.numbers[-1]}"
            raise UserError(f"{self.path}: no member {number}, there are {there}; give one of them")
        return self.numbers.index(number)

    def steps(self, number: int) -> int:
        """The steps that a member has taken."""
        mark = self.failures.get(number) or self.ends.get(number)
        return self.snapshot.step if mark is None else mark.step

    def state(self, number: int) -> str:
        """How a member is: "failed", its outcome, or "running"; of members in time "finished" at the end."""
        if number in self.failures:
            return "failed"
        if number in self.ends:
            return self.ends[number].outcome
        scene = self.snapshot.meta.get("scene")
        last = scene.get("run", {}).get("steps") if isinstance(scene, Mapping) else None
        return "finished" if self.snapshot.step == last else "running"

    # Parts of one member

    def own_name(self, name: str) -> str | None:
        """The name of a member's own series in an ordinary run; None for statistics over the members."""
        if is_statistic(name, self.snapshot.meta):
            return None
        return EDGES if name == BOXES else name

    def of_member(self, name: str, values: np.ndarray, row: int) -> np.ndarray:
        """The values (T, ...) of one member, from those of a series."""
        return self.by_member(name, values)[:, row]

    def by_member(self, name: str, values: np.ndarray) -> np.ndarray:
        """The values of a series with an axis for members behind that of rows."""
        if name.startswith(f"{OBSERVABLES}/"):
            return values
        each = values.shape[1] // self.count
        return values.reshape(len(values), self.count, each, *values.shape[2:])

    def list_of_member(self, tuples: np.ndarray, row: int) -> np.ndarray:
        """The tuples of one member (E, k), with its own nodes counted from 0."""
        each = len(tuples) // self.count
        return tuples[row * each : (row + 1) * each] - row * self.nodes

    def grid_of_member(self, raster: Raster) -> Raster:
        """The grid of one member."""
        return raster._replace(shape=(raster.shape[0] // self.count, *raster.shape[1:]))

    def snapshot_of(self, snapshot: Snapshot, number: int) -> Snapshot:
        """A checkpoint of this run as that of a member which runs alone.

        Of a member that ended by itself, the state is that of its end.
        """
        row, arrays = self.row(number), {}
        _, ended = read_marks(snapshot.arrays_under("stepper"))
        step = min(snapshot.step, self.steps(number))
        for name, array in snapshot.arrays.items():
            if name == "stepper/members/step":
                arrays[name] = np.array(step)
            elif name == "stepper/members/marks":
                ends = [[n, end.step, end.outcome] for n, end in ended.items() if n == number]
                arrays[name] = np.frombuffer(json.dumps([0, ends]).encode(), np.uint8).copy()
            elif name.startswith("recorder/"):
                series, leaf = name.removeprefix("recorder/").rsplit("/", 1)
                if (own := self.own_name(series)) is not None:
                    part = self.of_member(series, array, row) if leaf == "value" else array
                    arrays[f"recorder/{own}/{leaf}"] = part
            else:
                arrays[name] = array[row : row + 1]
        meta = json.loads(json.dumps(snapshot.meta))
        meta |= {"names": self.size["names"], "bodies": self.size["bodies"], "ensemble": {"member": number}}
        meta["scene"]["ensemble"]["member"] = number
        meta["scene"]["ensemble"].pop("shard", None)
        meta["sealed"] = min(step, int(meta.get("sealed", step)))
        return Snapshot(step, snapshot.time, snapshot.dt, arrays, snapshot.units, meta, snapshot.scene)

"""The saved state of another run, as the start of this one.

    run folder -> its newest checkpoint, or that of a step -> inputs/initial/ in the folder of this run

The checkpoint is copied byte for byte, so that a run can be resumed when the other folder is gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...errors import CheckpointError, RunFolderError, UserError
from ...files import checkpoint, durable
from ...files.checkpoint import Snapshot
from ...files.node_ranges import members
from ...files.run_folder import RunDir
from ...scene.state_tables.initial_table import InitialTable

FOLDER = "initial"
"""The folder for the checkpoint, among the inputs of a run."""


@dataclass(frozen=True)
class SavedStart:
    """A checkpoint of another run: name and bytes of the file, its fields by name and their unit symbols."""

    name: str
    data: bytes
    snapshot: Snapshot
    fields: Mapping[str, np.ndarray]
    units: Mapping[str, str]

    @classmethod
    def of(cls, table: InitialTable, scene: Path, inputs: Path | None) -> Self:
        """The state that a scene names. scene: the scene's folder. inputs: those of a run that is resumed.

        Raises `RunFolderError` for a folder without one, and `CheckpointError` if it is damaged.
        """
        assert table.run is not None
        path = _kept(inputs) if inputs is not None else _chosen(scene / table.run, table.step)
        data = durable.verified_bytes(path)
        snapshot = checkpoint.decode_checkpoint(path, data)
        if snapshot.meta.get("fit") is True:
            raise RunFolderError(
                f"{table.run}: is a fit, which has no state; start with what it found by --fitted"
            )
        group, row = _place(table, snapshot)
        found, start = snapshot.arrays_under(group), f"{group}/"
        fields = {name: values if row is None else values[row] for name, values in found.items()}
        units = {n.removeprefix(start): u for n, u in snapshot.units.items() if n.startswith(start)}
        return cls(path.name, data, snapshot, fields, units)

    @property
    def files(self) -> dict[str, bytes]:
        """The checkpoint, as an input file of a run."""
        return {f"{FOLDER}/{self.name}": self.data}

    def facts(self) -> dict[str, Any]:
        """The origin of the values, for the checkpoints of a run."""
        title = self.snapshot.meta.get("title") or ""
        return {"checkpoint": self.name, "step": self.snapshot.step, "title": title}


def _kept(inputs: Path) -> Path:
    """The checkpoint among the inputs of a run."""
    found = checkpoint.list_checkpoints(inputs / FOLDER)
    if len(found) != 1:
        raise CheckpointError(
            f"{inputs / FOLDER}: needs the checkpoint that the run started from, got {len(found)} files;"
            " restore the original one"
        )
    return found[0]


def _chosen(run: Path, step: int | None) -> Path:
    """The newest undamaged checkpoint of a run, or that of a step."""
    RunDir.open(run, read_only=True)
    if step is None:
        newest, remarks = checkpoint.newest(run / "ckpt")
        if newest is None:
            raise RunFolderError("\n".join([f"{run}: has no usable checkpoint; run it again", *remarks]))
        return newest
    saved = {checkpoint.step_of(path): path for path in checkpoint.list_checkpoints(run / "ckpt")}
    if step not in saved:
        there = ", ".join(map(str, saved)) or "none"
        raise CheckpointError(
            f"{run}: no state of step {step} was saved (there are: {there}); its [checkpoint] keep_every"
            " keeps more"
        )
    return saved[step]


def _place(table: InitialTable, snapshot: Snapshot) -> tuple[str, int | None]:
    """The folder of the fields among the arrays, and the row of the member."""
    facts = snapshot.meta.get("ensemble")
    if not isinstance(facts, Mapping):
        if table.member is not None:
            raise UserError(f"{table.run}: has no members, got member {table.member}; leave it out")
        return "fields", None
    numbers = [facts["member"]] if "member" in facts else members(snapshot)
    if table.member is None and len(numbers) > 1:
        raise UserError(f"{table.run}: is an ensemble of {len(numbers)} members; choose one by `member`")
    chosen = numbers[0] if table.member is None else table.member
    if chosen not in numbers:
        raise UserError(
            f"{table.run}: no member {chosen}, there are {numbers[0]} to {numbers[-1]}; give one of them"
        )
    return "stepper/fields", numbers.index(chosen)

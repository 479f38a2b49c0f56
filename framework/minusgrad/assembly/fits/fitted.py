"""Fitted values: parameters and initial fields that an earlier fit found, as the start of a run or a fit.

    a fit's folder -> its newest checkpoint -> inputs/fitted/ in the run's folder -> fields and parameters

The checkpoint is copied byte for byte, so a run can be resumed when the fit's folder is gone. A fit that
itself started from fitted values passes on those that it did not vary.

Decisions 0245.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from ...energies.fields import Fields
from ...errors import CheckpointError, EnergyError, RunFolderError, UserError
from ...files import checkpoint, durable
from ...files.checkpoint import Snapshot
from ...files.run_folder import INPUTS, RunDir
from ...potential.argument_values import argument_values, set_argument_values
from ...potential.potential import Potential
from ...scene.document import Scene
from ...scene.units import UnitSystem
from ...steppers.holds import Holds
from ...steppers.supports.hold_numbers import HoldNumbers
from .. import provenance
from ..building.named_arguments import has_owner, owner_of

FOLDER = "fitted"
"""The folder for the checkpoints of fits, among the inputs of a run."""
SAME = (
    *("units", "state", "initial", "box", "map", "slope", "energy", "compound", "lagrangian", "dissipation"),
    *("magnetic", "constraint", "hold"),
)
"""The sections of a scene that give a fitted value its meaning."""
SHOWN = 3
"""Differences between two scenes that a message names."""
_OWN = ("title", "scene", "text", "files", "plugins", "machine", "versions")


class Startable(Protocol):
    """A simulation, as far as fitted values are concerned."""

    scene: Scene

    @property
    def units(self) -> UnitSystem: ...

    @property
    def fields(self) -> Fields: ...

    @property
    def holds(self) -> Holds: ...

    @property
    def start_files(self) -> dict[str, bytes]: ...

    @property
    def potentials(self) -> Sequence[Potential]: ...


@dataclass(frozen=True)
class FittedCheckpoint:
    """A checkpoint of a fit: its name, its bytes and its contents."""

    name: str
    data: bytes
    snapshot: Snapshot

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises `CheckpointError` for a damaged one."""
        data = durable.verified_bytes(path)
        return cls(path.name, data, checkpoint.decode_checkpoint(path, data))

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The values that were found, by name."""
        return self.snapshot.arrays_under("fields")

    def facts(self) -> dict[str, Any]:
        """Where the values come from, for the checkpoints of a run."""
        of_fit = {key: self.snapshot.meta[key] for key in _OWN if key in self.snapshot.meta}
        loss = float(self.snapshot.arrays.get("stepper/energy", np.nan))
        return {
            "checkpoint": self.name,
            "iteration": self.snapshot.step,
            "loss": loss if np.isfinite(loss) else None,
            "values": {name: list(array.shape) for name, array in self.values.items()},
            "fit": of_fit,
        }


@dataclass(frozen=True)
class Fitted:
    """The values of one fit, and those of earlier fits that it did not vary.

    checkpoints: the earliest first; a later one overwrites. folder: that of the fit, as given; None for a run
    that is resumed, which was compared with the fit's scene at its start.
    """

    checkpoints: tuple[FittedCheckpoint, ...]
    folder: Path | None = None

    @classmethod
    def of_fit(cls, folder: Path) -> Self:
        """The result of the fit in a folder: its newest checkpoint, which is that of its report if it ended.

        Raises `RunFolderError` if the folder contains no fit, and `CheckpointError` if it is damaged.
        """
        RunDir.open(folder, read_only=True)
        newest, remarks = checkpoint.newest(folder / "ckpt")
        if newest is None:
            raise RunFolderError("\n".join([f"{folder}: has no usable checkpoint; fit again", *remarks]))
        last = FittedCheckpoint.read(newest)
        if last.snapshot.meta.get("fit") is not True:
            raise RunFolderError(f"{folder}: contains a run; give the folder of a fit (`minusgrad fit`)")
        earlier = cls.of_run(folder / INPUTS, last.snapshot.meta)
        before = earlier.checkpoints if earlier else ()
        kept = [one for k, one in enumerate(before) if one.values.keys() - _names([*before[k + 1 :], last])]
        return cls((*kept, last), folder)

    @classmethod
    def of_run(cls, inputs: Path, meta: Mapping[str, Any]) -> Self | None:
        """The values that a saved run started with, from its inputs; None for any other run.

        Raises `CheckpointError` if they are missing or damaged.
        """
        listed = meta.get("fitted")
        if not listed:
            return None
        names = [one.get("checkpoint") if isinstance(one, Mapping) else None for one in listed]
        if not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise CheckpointError(f"{inputs / FOLDER}: the run does not say which files it started from")
        return cls(tuple(FittedCheckpoint.read(inputs / FOLDER / str(name)) for name in names))

    @property
    def values(self) -> dict[str, np.ndarray]:
        """All values by name."""
        return {name: array for one in self.checkpoints for name, array in one.values.items()}

    @property
    def files(self) -> dict[str, bytes]:
        """The checkpoints, as input files of a run."""
        return {f"{FOLDER}/{one.name}": one.data for one in self.checkpoints}

    @property
    def remark(self) -> str:
        """A remark for the user."""
        step = self.checkpoints[-1].snapshot.step
        return f"starts from iteration {step} of the fit in {self.folder}: {', '.join(self.values)}"

    def facts(self) -> list[dict[str, Any]]:
        """Where the values come from, for the checkpoints of a run."""
        return [one.facts() for one in self.checkpoints]

    def put(self, simulation: Startable) -> list[str]:
        """Overwrite fields and parameters of a simulation at its start, before its stepper is made.

        Returns the names that are left: parameters of the stepper's own maps, for `put_rest`. Raises
        `UserError` if the fit is that of another scene.
        """
        if self.folder is not None:
            self._refuse_another(simulation)
        left = [name for name in self.values if not has_owner(simulation, name)]
        self.put_rest(simulation, [name for name in self.values if name not in left])
        return left

    def put_rest(self, simulation: Startable, names: Sequence[str]) -> None:
        """Overwrite fields and parameters with these names.

        Raises `UserError` if a value has no place in the simulation.
        """
        for one in self.checkpoints:
            for name in (name for name in one.values if name in names):
                values = one.values[name]
                try:
                    place = _Place.of(simulation, name)
                    place.take(values, one.snapshot.units.get(f"fields/{name}"))
                except EnergyError as error:
                    where = self.folder or one.name
                    raise UserError(f"{where}: {error}; fit this scene for values that it can take") from None

    def _refuse_another(self, simulation: Startable) -> None:
        """Refuse the fit of a scene that differs in more than the overrides of this run."""
        meta, scene = self.checkpoints[-1].snapshot.meta, simulation.scene
        changes = provenance.changes(_meaning(meta.get("scene")), _meaning(scene.resolved()))
        asked = scene.document.origins
        others = [path for path, _, _ in changes if not any(path[: len(one)] == one for one in asked)]
        different = [".".join(map(str, path)) for path in others]
        files = meta.get("files")
        before = files if isinstance(files, Mapping) else {}
        here = {name: provenance.sha(data) for name, data in simulation.start_files.items()}
        different += [name for name, sha in here.items() if before.get(name) != sha]
        if different:
            shown, rest = ", ".join(different[:SHOWN]), len(different) - SHOWN
            more = f" and {rest} more" if rest > 0 else ""
            cure = "give the fit's overrides here too, or as key=value what is to differ from its scene"
            raise UserError(f"{self.folder}: a fit of another scene, which differs in {shown}{more}; {cure}")


@dataclass(frozen=True)
class _Place:
    """An initial field or a parameter of a term: shape, unit, and how to write it."""

    name: str
    shape: tuple[int, ...]
    unit: str
    write: Callable[[np.ndarray], None]

    @classmethod
    def of(cls, simulation: Startable, name: str) -> Self:
        """Raises `EnergyError` for a name that the simulation does not have."""
        if "." not in name:
            field = simulation.fields[name]
            if name in simulation.fields.derived:
                raise EnergyError(f"'{name}' is computed by a map")
            return cls(name, field.shape, simulation.units.symbol(field.unit), field.set)
        owner = owner_of(simulation, name)
        if isinstance(owner, HoldNumbers):
            write = partial(owner.set_parameter, name)
            return cls(name, owner.shape(name), simulation.units.symbol(owner.unit(name)), write)
        shape, role = argument_values(owner, name).shape, owner.roles_of(name)[0][1]
        write = partial(set_argument_values, owner, name)
        return cls(name, shape, simulation.units.symbol(role.unit), write)

    def take(self, values: np.ndarray, unit: str | None) -> None:
        """Write values. Raises `EnergyError` for another shape or unit."""
        needed = self.shape or (1,)  # a fit keeps one number as a list
        if values.shape != needed:
            raise EnergyError(f"'{self.name}' has shape {list(values.shape)}, needs {list(needed)}")
        if unit != self.unit:
            raise EnergyError(f"'{self.name}' is in {unit}, needs {self.unit}")
        self.write(values.reshape(self.shape))


def _meaning(scene: Any) -> dict[str, Any]:
    """The parts of a resolved scene that give a value its meaning; random states depend on the seed."""
    table = scene if isinstance(scene, Mapping) else {}
    runtime = table.get("runtime")
    seed = runtime.get("seed") if isinstance(runtime, Mapping) else None
    return {name: table.get(name) for name in SAME} | {"runtime": {"seed": seed}}


def _names(checkpoints: Sequence[FittedCheckpoint]) -> set[str]:
    return {name for one in checkpoints for name in one.values}

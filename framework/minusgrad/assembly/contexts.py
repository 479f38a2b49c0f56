"""What a plugin's maker is given, and nothing more: to start, to move, to look."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..energies.fields import Motion, State
from ..errors import UserError
from ..files.trajectory import Recorder
from ..potential.potential import Potential
from ..scene.units import UnitSystem
from ..steppers.holds import Holds
from ..steppers.stepper import Stepper


@dataclass
class StateContext:
    """For states: the run's units, its seed, and the files beside the scene."""

    units: UnitSystem
    seed: int
    folder: Path
    files: dict[str, bytes] = field(default_factory=dict)
    """What has been read, by name: copied into the run folder, so that a run needs nothing else."""

    remarks: list[str] = field(default_factory=list)
    """What the user should know of how the state was made."""

    def read(self, name: str) -> bytes:
        """The bytes of a file beside the scene. Raises `UserError` if it is missing or lies elsewhere."""
        path, within = (self.folder / name).resolve(), Path(name)
        if within.is_absolute() or ".." in within.parts or not path.is_relative_to(self.folder.resolve()):
            raise UserError(f"'{name}' lies outside the scene's folder; copy it there")
        try:
            self.files[name] = path.read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"cannot read '{name}' ({reason}); paths start at the scene's folder") from None
        return self.files[name]

    def random(self, stream: str) -> np.random.Generator:
        """Random numbers of the scene's seed, another sequence for each named stream (Philox counters)."""
        key = hashlib.sha256(f"{self.seed}/{stream}".encode()).digest()[:16]
        return np.random.Generator(np.random.Philox(key=np.frombuffer(key, np.uint64)))


@dataclass(frozen=True)
class StepperContext:
    """For steppers: the potential, what moves and what is held, what rubs, if anything; the run's seed."""

    units: UnitSystem
    potential: Potential
    motions: Sequence[Motion]
    holds: Holds
    dissipation: Potential | None = None
    seed: int = 0


@dataclass(frozen=True)
class ObserverContext:
    """For observers: what moves, what is held, what it started from, and where to note what is seen.

    `grids`: the grid that a field lies on, by field.
    """

    units: UnitSystem
    stepper: Stepper
    recorder: Recorder
    labels: Mapping[str, str]
    state: State
    holds: Holds
    dissipation: Potential | None = None
    grids: Mapping[str, str] = field(default_factory=dict)

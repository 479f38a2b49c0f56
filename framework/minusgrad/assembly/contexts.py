"""Contexts: the arguments of `make` in a plugin's models of states, compounds, steppers and observers.

Decisions 0001, 0087, 0159, 0224, 0246.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EnergyError, UserError, printable
from ..files.held import held_folders
from ..files.held.json_text import parse_json
from ..scene import input_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..elements.periodic.linked_pairs import LinkedPairs
    from ..energies.fields import Fields, Hold, Motion, State
    from ..energies.term import Term
    from ..files.trajectory import Recorder
    from ..potential.potential import Potential
    from ..potential.staged.staged_term import StagedTerm
    from ..scene.state_tables.sides_table import SideTable
    from ..scene.units import UnitSystem
    from ..steppers.stepper import Stepper
    from ..steppers.systems.system import System
    from .building.sides.found_side import Side


@dataclass
class StateContext:
    """The argument of a state model's `make`: the run's units, its seed, and the files beside the scene.

        x = context.units.convert("5 km", "m")
        data = context.read("bodies.csv")
        rng = context.random("positions")

    seed: that of the scene. folder: the folder of the scene. Raises `UserError` where a file cannot be read.
    """

    units: UnitSystem
    seed: int
    folder: Path
    files: dict[str, bytes] = field(default_factory=dict)
    """The files that were read, by name. They are copied into the run folder."""

    remarks: list[str] = field(default_factory=list)
    """Remarks for the user about the state, shown when the run ends."""

    attached: Mapping[str, bytes] = field(default_factory=dict)
    """Files that come with the scene, by name; they are read before those of the folder."""

    sides: Mapping[str, SideTable] = field(default_factory=dict)
    """The tables of [state.sides]."""

    found_sides: list[Side] = field(default_factory=list)
    """The sides that `with_sides` found."""

    def with_sides(self, state: State) -> State:
        """The state with a body for each side of [state.sides]; unchanged once they are found.

        It is called with what a model makes. A model that reads values by body calls it itself, with the
        state of its mesh. Raises `UserError` below the key `sides`.
        """
        from .building.sides.named_sides import with_named_sides

        if not self.sides or self.found_sides:
            return state
        state, found = with_named_sides(state, self.sides, self.units)
        self.found_sides += found
        self.remarks += [side.line(self.units) for side in found]
        return state

    def read(self, name: str) -> bytes:
        """The bytes of a file beside the scene; of the scene of a run without overrides, of the run's files.

        Raises `UserError` if it is missing, lies elsewhere, is a FIFO or a device, or exceeds the memory.
        """
        from ..files.run_folder import INPUTS

        within, outside = Path(name), f"'{printable(name)}' lies outside the scene's folder; copy it there"
        if name in self.attached:
            self.files[name] = self.attached[name]
            return self.files[name]
        try:
            if within.anchor or ".." in within.parts:  # of Windows "C:x" and "\\x", too
                raise UserError(outside)
            if held_folders.owner(self.folder) is not None:
                held = self.folder / name
                if not held_folders.is_file(held) and self._is_of_run_as_written():
                    held = self.folder / INPUTS / name
                self.files[name] = held_folders.read_file(held)
                return self.files[name]
            path = (self.folder / name).resolve()
            if not path.exists() and self._is_of_run_as_written():
                path = (self.folder / INPUTS / name).resolve()
            if not path.is_relative_to(self.folder.resolve()):
                raise UserError(outside)
            self.files[name] = input_files.read(path, f"'{name}'")
        except (OSError, ValueError) as error:
            reason, shown = getattr(error, "strerror", None) or error, printable(name)
            cure = self._of_run() or "; paths start at the scene's folder"
            raise UserError(f"cannot read '{shown}' ({reason}){cure}") from None
        return self.files[name]

    def _is_of_run_as_written(self) -> bool:
        """The scene is that of a run without overrides, so that building it repeats the run."""
        try:
            return (
                self._is_of_run() and parse_json(held_folders.read_file(self.folder / "overrides.json")) == []
            )
        except (OSError, ValueError):
            return False

    def _is_of_run(self) -> bool:
        return (self.folder / "journal.jsonl").is_file()

    def _of_run(self) -> str:
        """The cure where the scene is that of a run, which keeps its files in a folder of their own."""
        if not self._is_of_run():
            return ""
        return (
            f"; this scene is that of a run, whose files are in {self.folder / 'inputs'}: to repeat it, copy"
            " scene.toml and these files into one folder, and run the scene there with its overrides, which"
            " are in overrides.json"
        )

    def random(self, stream: str) -> np.random.Generator:
        """A generator of random numbers for the scene's seed and a named stream (Philox)."""
        key = hashlib.sha256(f"{self.seed}/{stream}".encode()).digest()[:16]
        return np.random.Generator(np.random.Philox(key=np.frombuffer(key, np.uint64)))


@dataclass(frozen=True)
class CompoundContext:
    """The argument of a compound model's `make`.

    units: the run's unit system. fields: those of the state, and the outputs of the scene's maps. state: the
    initial state, with its lists and tables. read: gives the bytes of a file beside the scene, as
    `StateContext.read` does. remarks: sentences for the user, shown when the run ends. holds: what supports
    hold. others: the compounds that blocks above made. terms, maps: the bound energies and maps of the scene,
    with those of `others`.
    """

    units: UnitSystem
    fields: Fields
    state: State
    read: Callable[[str], bytes] = field(default=lambda name: _no_file(name))
    remarks: list[str] = field(default_factory=list)
    holds: Sequence[Hold] = ()
    others: Sequence[Compound] = ()
    terms: Sequence[Term | StagedTerm] = ()
    maps: Sequence[Term | StagedTerm] = ()

    def excluded(self, named: str | Sequence[Sequence[int]] | None) -> LinkedPairs | None:
        """The pairs that `exclude` of a block names: "bonded 1-3", a list of the state, or rows.

        With their images, for `exclude` and `tuples` of `bind`; NumPy takes them as an array (n, 2). None if
        it names none. Raises `EnergyError` for a list that the state does not have.
        """
        from .blocks.named_pairs import excluded

        return excluded(self.state, named)

    def scaled(self, given: Mapping[str, float]) -> dict[str, tuple[LinkedPairs, float]]:
        """The pairs, as of `excluded`, of each list that `scale` of a block names, and its factor.

        Raises `EnergyError` for a list that the state does not have.
        """
        from .blocks.named_pairs import scaled

        return scaled(self.state, given)


@dataclass(frozen=True)
class Compound:
    """Energies, maps and constraints that belong together, such as the parts of an Ewald sum; of one block.

        Compound(terms=[bind(direct, fields, ...), bind(waves, fields, ...)], maps=[bind(mesh, fields, ...)])

    terms: summands of the potential, bound to the fields. maps: in the order in which they run; the scene's
    own maps run before. constraints, dissipations: bound ones, beside those of the scene. common: by the
    name of the block, parameters with one value for all terms that have them: `{"rod": ["youngs_modulus"]}`
    is addressed as "rod.youngs_modulus", for fits, members, loads and derivatives. Raises `EnergyError` for
    a common parameter that none of the terms has.
    """

    terms: Sequence[Term | StagedTerm]
    maps: Sequence[Term | StagedTerm] = ()
    constraints: Sequence[Term] = ()
    common: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dissipations: Sequence[Term] = ()

    def __post_init__(self) -> None:
        """Raises `EnergyError` for a common parameter that none of the terms has."""
        if not self.common:
            return
        from ..energies.term import Term

        local = [one for one in (*self.terms, *self.dissipations) if isinstance(one, Term)]
        for block, parameters in self.common.items():
            for parameter in parameters:
                owners = [one for one in local if parameter in one.parameters]
                if not owners:
                    raise EnergyError(
                        f"common: no term of '{block}' has a parameter '{parameter}'; correct it"
                    )
                for term in owners:
                    term.common = {**term.common, parameter: block}

    @property
    def parts(self) -> list[Term | StagedTerm]:
        """The maps, the terms, the constraints, then the dissipations."""
        return [*self.maps, *self.terms, *self.constraints, *self.dissipations]


@dataclass(frozen=True)
class StepperContext:
    """The argument of a stepper model's `make`.

    units: the run's unit system. system: all that moves and acts in the scene, which a stepper takes whole.
    seed: that of the scene.
    """

    units: UnitSystem
    system: System
    seed: int = 0

    @property
    def potential(self) -> Potential:
        """U of the scene."""
        return self.system.potential

    @property
    def motions(self) -> Sequence[Motion]:
        """The fields that move in time."""
        return self.system.motions


def _no_file(name: str) -> bytes:
    """The files of a context without a folder."""
    raise UserError(
        f"'{name}': cannot be read without a scene's folder, got none; build the scene from a file"
    )


@dataclass(frozen=True)
class ObserverContext:
    """The argument of an observer model's `make`.

    units: the run's unit system. stepper: it moves the fields, which are in `stepper.potential.fields`.
    recorder: takes the numbers that an observer records. labels: the names of fields in files, by field.
    state: the initial state. system: all that moves and acts in the scene, of a minimiser its motions, too.
    grids: the name of the grid that a field lies on, by field. read: gives the
    bytes of a file beside the scene, as `StateContext.read` does.
    """

    units: UnitSystem
    stepper: Stepper
    recorder: Recorder
    labels: Mapping[str, str]
    state: State
    system: System
    grids: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[str], bytes] = _no_file

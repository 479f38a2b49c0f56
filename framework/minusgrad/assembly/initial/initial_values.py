"""The values of `[initial]` over those that a state has made.

Decisions 0168.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...energies.fields import Body, State, union_nodes
from ...errors import EnergyError, UserError, unknown
from ...scene.state_tables.initial_table import FieldFile, InitialTable
from ...scene.toml_positions import KeyPath
from ...scene.units import UnitSystem
from ..contexts import StateContext
from . import field_files
from .saved_start import SavedStart

Placed = Callable[[KeyPath], AbstractContextManager[None]]
SECTION = "initial"
SAME_PLACE = 1e-5
"""How far nodes may lie apart that are the same, of the largest coordinate."""


class InitialValues:
    """The fields that a scene's `[initial]` replaces.

    starting: reads files beside the scene, or among the inputs of a run that is resumed, and keeps them.
    scene, inputs: these folders; `inputs` None for a new run. placed: turns mistakes into `SceneError` at
    their place. Raises it for a run that cannot be read.
    """

    def __init__(
        self, table: InitialTable, starting: StateContext, scene: Path, inputs: Path | None, placed: Placed
    ):
        self.table, self._starting, self._placed = table, starting, placed
        self.saved: SavedStart | None = None
        if table.run is not None:
            with placed((SECTION, "step" if table.step is not None else "run")):
                self.saved = SavedStart.of(table, scene, inputs)
            starting.files.update(self.saved.files)

    @property
    def time(self) -> float | None:
        """The time at which the run begins; None for 0."""
        return self.saved.snapshot.time if self.saved and self.table.time else None

    def remarks(self, place: Callable[[KeyPath], str]) -> list[str]:
        """A remark for the user about the run, and its fields that files replace, with their places."""
        if self.saved is None:
            return []
        over = [
            f"; its {name} is then replaced by {given.file} ({place((SECTION, 'fields', name))})"
            for name, given in self.table.files.items()
            if name in (self.table.take or self.saved.fields)
        ]
        return [f"starts from step {self.saved.snapshot.step} of the run in {self.table.run}{''.join(over)}"]

    def facts(self) -> dict[str, Any]:
        """The run that it starts from, for the checkpoints."""
        return {SECTION: self.saved.facts()} if self.saved else {}

    def onto(self, state: State) -> State:
        """The state with these values in place of its own. Raises `SceneError`."""
        found = self.replaced(state.fields, state.units, state, strict=False)
        return replace(state, fields={**state.fields, **found})

    def replaced(
        self,
        fields: Mapping[str, Any],
        units: Mapping[str, str],
        state: State,
        strict: bool = True,
    ) -> dict[str, np.ndarray]:
        """The new values of fields, by name. fields: the present ones, in the run's units; units: SI units.

        state: the one that has made them. strict: refuse a name that `fields` does not have. Raises
        `SceneError`.
        """
        found = self._of_run(fields, units, state) if self.saved else {}
        for name, given in self.table.files.items():
            with self._placed((SECTION, "fields", name)):
                if name not in fields:
                    if not strict:
                        continue
                    raise EnergyError(unknown("field", name, fields))
                now = np.asarray(found.get(name, fields[name]), np.float64)
                unit = units.get(name, "1")
                found[name] = self._of_file(name, given, now, unit, state.bodies, name in state.absolute)
        return found

    def _of_file(
        self,
        name: str,
        given: FieldFile,
        now: np.ndarray,
        unit: str,
        bodies: tuple[Body, ...],
        absolute: bool,
    ) -> np.ndarray:
        """The values of one field, where its file has them in place of `now`."""
        chosen = _nodes(given, bodies)
        rows = len(now) if chosen is None else len(chosen)
        wanted = field_files.WantedField(name, rows, now.shape[1:], given.data, given.columns)
        read = field_files.read(given.file, self._starting.read(given.file), wanted)
        symbol = given.unit if given.unit is not None else read.unit
        values = read.values if symbol is None else self._converted(read.values, symbol, unit, absolute)
        if chosen is None:
            return values
        made = now.copy()
        made[chosen] = values
        return made

    def _converted(self, values: np.ndarray, symbol: str, unit: str, absolute: bool = False) -> np.ndarray:
        """Values in a unit in those of the run, which are left as they are where it is the run's own."""
        units = self._starting.units
        if symbol == units.symbol(unit):
            return values
        factor, offset = units.of_numbers(symbol, UnitSystem.si().symbol(unit), absolute)
        return values * factor + offset if offset else values * factor

    def _of_run(
        self, fields: Mapping[str, Any], units: Mapping[str, str], state: State
    ) -> dict[str, np.ndarray]:
        """The fields of the saved state that the scene has."""
        assert self.saved is not None
        saved, run = self.saved.fields, self.table.run
        for name in self.table.take:
            with self._placed((SECTION, "take")):
                if name not in saved:
                    raise UserError(f"{run}: {unknown('field', name, saved)}")
        names = self.table.take or [name for name in saved if name in fields]
        with self._placed((SECTION, "run")):
            if not names:
                raise UserError(f"{run}: has no field of this scene (there are: {', '.join(saved)})")
            found = {}
            for name in (name for name in names if name in fields):
                needed = np.shape(fields[name])
                if saved[name].shape != needed:
                    raise UserError(
                        f"{run}: its field '{name}' has shape {list(saved[name].shape)}, this scene needs"
                        f" {list(needed)}; `take` names the fields to take"
                    )
                symbol = self.saved.units.get(name, "1")
                try:
                    values = self._converted(np.asarray(saved[name]), symbol, units.get(name, "1"))
                except UserError as error:
                    raise UserError(f"{run}: its field '{name}': {error}") from None
                found[name] = values
            self._refuse_other_places(fields, units, state, found)
            return found

    def _refuse_other_places(
        self, fields: Mapping[str, Any], units: Mapping[str, str], state: State, found: Mapping[str, Any]
    ) -> None:
        """Raise `UserError` for values of nodes of a run that lie at other places than the state's."""
        assert self.saved is not None
        moving = {motion.position for motion in state.motions if motion.velocity in self.saved.fields}
        for name, places in state.fixed_at.items():
            if name not in found or places not in self.saved.fields or places in moving:
                continue
            here, there = np.asarray(fields[places]), np.asarray(self.saved.fields[places])
            apart = np.inf
            if here.shape == there.shape:
                there = self._converted(there, self.saved.units.get(places, "1"), units.get(places, "1"))
                apart = np.abs(there - here).max(axis=1)
            if np.max(apart) > SAME_PLACE * np.abs(here).max():
                node = int(np.argmax(apart))
                own, other = (np.round(at[node], 9).tolist() for at in (here, there))
                raise UserError(
                    f"{self.table.run}: its field '{name}' belongs to nodes at other places, got node {node}"
                    f" at {other} in place of {own}; take it from a run on the same mesh"
                )


def _nodes(given: FieldFile, bodies: tuple[Body, ...]) -> np.ndarray | None:
    """The nodes of the bodies that a file has values for; None for all."""
    if given.body is None:
        return None
    by_name = {body.name: body for body in bodies}
    names = (given.body,) if isinstance(given.body, str) else given.body
    for name in names:
        if name not in by_name:
            raise UserError(unknown("body", name, by_name))
    return union_nodes([by_name[name] for name in names])

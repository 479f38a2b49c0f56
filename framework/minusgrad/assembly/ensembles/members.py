"""The members of an ensemble: each an ordinary scene whose varied values are replaced.

    members = Members(validated)
    members.initial("x"), members.parameters["gravity.G"]        (M, N, d), (M,)
    members.simulation(17).stepper.advance(100)

All values are drawn and judged when this is made.

Decisions 0021.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from ...elements.periodic_box import PeriodicBox
from ...energies.fields import BOX, POSITIONS, State
from ...engine import memory
from ...errors import EnergyError, UserError
from ...potential.watches.followed_images import other_images
from ...scene.ensemble_table import VaryTable
from ...steppers.timed.inertias import refuse_massless
from ..building.named_arguments import has_owner
from ..built_scene import BuiltScene
from ..validation import ValidatedScene
from .points import Points
from .state_keys import SEED, MemberStates, StateKey, state_key
from .varied_keys import STATE, KeyPlace, VariedKey, field_of, place_of, place_of_term

PLACE = ("ensemble",)
COPIES = 4
"""Copies of the initial fields of a member that an ensemble holds: at the start, now, saved and recorded."""


@dataclass(frozen=True)
class OneMember:
    """Overwrites the initial values of a simulation by those of a member, before its stepper is made.

    put: returns the names of parameters that are left for `put_rest`: those of the stepper's own maps.
    """

    put: Callable[[BuiltScene], list[str]]
    put_rest: Callable[[BuiltScene, Sequence[str]], None]
    state: State | None = None
    """The initial state of the member; None: that of the scene."""


@dataclass
class Base:
    """Keeps the initial fields of a simulation, before its stepper is made."""

    fields: dict[str, np.ndarray] = field(default_factory=dict)
    state: None = None

    def put(self, simulation: BuiltScene) -> list[str]:
        """Called by the simulation when its fields have their initial values."""
        own = (n for n in simulation.fields if n not in simulation.fields.derived)
        self.fields = {name: simulation.fields[name].values.copy() for name in own}
        return []

    def put_rest(self, simulation: BuiltScene, names: Sequence[str]) -> None:
        """Does nothing: `put` leaves nothing."""


class Members:
    """The members of a scene's ensemble.

    validated: the scene. folder: that of its input files, default the scene's. `template`: an ordinary
    simulation of the scene as it is written; `points`: the values of the varied keys. Raises `SceneError`
    with the first mistake, at its key: the member and the value of a value that the scene could not have.
    """

    def __init__(self, validated: ValidatedScene, folder: Path | None = None):
        table = validated.scene.ensemble
        if table is None:
            raise UserError(f"{validated.scene.path}: has no [ensemble]; add one, or leave the member out")
        self.scene, self._validated, self._folder = validated.scene, validated, folder
        base = Base()
        self.template = BuiltScene(replace(validated, member=base), folder)
        self._base = base.fields
        self._keys: dict[str, StateKey] = {}
        self._varied = {key: self._varied_key(key, how) for key, how in table.vary.items()}
        self._states = MemberStates(validated, self.template, self._keys)
        with self.template.placed(PLACE):
            self.points = Points(table, self.scene.runtime.seed, self._varied)
            self._refuse_too_many()
        self._values = {key: self.points.values(key) for key in self.points.keys}
        of_terms = [key for key, one in self._varied.items() if not one.place.field and key not in self._keys]
        self.parameters = {key: self._whole(key) for key in of_terms}
        """The varied parameters and data, (M, *shape) each, by "term.argument"."""
        self._judge(self.parameters)
        self._places: dict[str, KeyPlace] = {key: self._varied[key].place for key in of_terms}
        self._fields = self._varied_fields()
        self._judge(
            {key: self._fields[one.place.field] for key, one in self._varied.items() if one.place.field}
        )
        self._judge_fields()
        self._refuse_other_images()

    def _refuse_other_images(self) -> None:
        """Refuse members that begin with tuples in other images of the box: all have the template's."""
        if POSITIONS not in self._fields and BOX not in self._fields:
            return
        parts = [part for one in self.template.potentials for part in one.parts.values()]
        for row, number in enumerate(self.numbers):
            given = {n: self._fields[n][row] if n in self._fields else None for n in (POSITIONS, BOX)}
            if found := other_images(parts, self.template.fields, given[POSITIONS], given[BOX]):
                with self.template.placed(PLACE):
                    raise EnergyError(
                        f"member {number}: begins with {found} of the scene; give positions that are not"
                        " wrapped"
                    )

    def __len__(self) -> int:
        """The number of members that run."""
        return len(self.numbers)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the members that run: all, or the one that the scene names."""
        return self.points.members

    @property
    def fields(self) -> list[str]:
        """The names of the initial fields in which members differ."""
        return list(self._fields)

    def initial(self, name: str) -> np.ndarray:
        """An initial field of all members that run, (M, N, ...); read only. Raises `EnergyError`."""
        if name in self._fields:
            return self._fields[name]
        values = self._base[name] if name in self._base else self.template.fields[name].values
        return np.broadcast_to(values, (len(self), *values.shape))

    def seed(self, number: int) -> int:
        """The seed of the random numbers that a member's stepper draws."""
        text = f"{self.scene.runtime.seed}/member/{number}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")

    def put(self, number: int) -> None:
        """Overwrite the initial fields, parameters and data of the template by those of one member.

        Its stepper is left as it is. number: that of the member.
        """
        self._put_parameters(self.template, self._put_into(self.template, number), number)

    def simulation(
        self, number: int, build: Callable[[ValidatedScene, Path | None], BuiltScene] = BuiltScene
    ) -> BuiltScene:
        """A member as an ordinary simulation at step 0, its stepper made for its own values.

        build: makes it of the scene and the folder of its input files.
        """
        put, rest = partial(self._put_into, number=number), partial(self._put_parameters, number=number)
        state = self._state(self._row(number)) if self._keys else None
        made = build(replace(self._validated, member=OneMember(put, rest, state)), self._folder)
        made.stepper.draw_as(self.seed(number))
        made.starting.files.update(self.template.starting.files)
        return made

    def _put_into(self, simulation: BuiltScene, number: int) -> list[str]:
        """Overwrite fields and parameters; the keys that the simulation has not yet."""
        row = self._row(number)
        for name in self._base:
            simulation.fields[name].set(self.initial(name)[row])
        simulation.holds.begin()
        left = [key for key in self.parameters if not has_owner(simulation, key)]
        self._put_parameters(simulation, [key for key in self.parameters if key not in left], number)
        return left

    def _put_parameters(self, simulation: BuiltScene, keys: Sequence[str], number: int) -> None:
        for key in keys:
            place = self._places[key] if simulation is self.template else place_of_term(simulation, key)
            assert place.put is not None
            place.put(self.parameters[key][self._row(number)])

    def _row(self, number: int) -> int:
        """The row of a member in all arrays. Raises `UserError` for a number that none has."""
        if number not in self.numbers:
            ends = self.numbers[0], self.numbers[-1]
            there = f"{ends[0]} to {ends[1]}" if self.points.table.member is None else f"only {ends[0]}"
            raise UserError(f"member: no member {number}, there are {there}; give one of them")
        return self.numbers.index(number)

    def _whole(self, key: str) -> np.ndarray:
        """The whole values of a parameter for all members, (M, *shape)."""
        one = self._varied[key]
        rows = np.stack([one.member(drawn) for drawn in self._values[key]])
        return rows.astype(one.place.dtype)

    def _varied_key(self, key: str, how: VaryTable) -> VariedKey:
        with self.template.placed((*PLACE, "vary", key)):
            first = key.partition(".")[0]
            if field_of(key, self._base) is None and (first == STATE or key == SEED):
                model = self._validated.entries[self.scene.state.path].model
                self._keys[key], place = state_key(self.template, model, key, how)
            else:
                place = place_of(self.template, key, how, self._base)
            return VariedKey(key, how, place, self.template.units, self.template.starting.read)

    def _state(self, row: int) -> State:
        """The initial state of a member, made of its own values. Raises `SceneError`."""
        values = {key: self._varied[key].member(self._values[key][row]) for key in self._keys}
        with self.template.placed((*PLACE, "vary", next(iter(self._keys)))):
            try:
                return self._states.state(values)
            except UserError as error:
                given = ", ".join(f"{key} = {_shown(value)}" for key, value in values.items())
                raise UserError(f"member {self.numbers[row]}, {given}: {error}") from None

    def _varied_fields(self) -> dict[str, np.ndarray]:
        """The initial fields in which members differ, (M, N, ...)."""
        found: dict[str, np.ndarray] = self._made_fields() if self._keys else {}
        for key, one in self._varied.items():
            if not (name := one.place.field):
                continue
            rows = self._values[key]
            made = [
                one.member(drawn, found[name][k] if name in found else None) for k, drawn in enumerate(rows)
            ]
            with np.errstate(over="ignore"):  # refused by `_judge`
                found[name] = np.stack(made).astype(self.template.fields.dtype)
        return found

    def _made_fields(self) -> dict[str, np.ndarray]:
        """The fields of the members' states in which these differ from that of the scene, (M, N, ...)."""
        found: dict[str, np.ndarray] = {}
        given = [name for name in self.template.state.fields if name in self._base]
        for row in range(len(self)):
            state = self._state(row)
            self._take_data(row, state)
            for name in given:
                with np.errstate(over="ignore"):  # refused by `_judge_fields`
                    values = np.asarray(state.fields[name], self.template.fields.dtype)
                if name not in found and np.array_equal(values, self._base[name]):
                    continue
                if name not in found:
                    found[name] = np.repeat(self._base[name][None], len(self), axis=0)
                found[name][row] = values
        return found

    def _take_data(self, row: int, state: State) -> None:
        """Add the data of terms that differ in a member's state to `parameters`."""
        with self.template.placed((*PLACE, "vary", next(iter(self._keys)))):
            found = self._states.data(state)
        for key, values in found.items():
            if key not in self._places:
                self._places[key] = place_of_term(self.template, key)
                base = self._places[key].base
                memory.require(2 * len(self) * base.nbytes, f"'{key}' of {len(self):,} members", "run fewer")
                self.parameters[key] = np.repeat(base[None], len(self), axis=0)
            if key not in self._varied:
                self.parameters[key][row] = values

    def _judge(self, every: Mapping[str, np.ndarray]) -> None:
        """Refuse the first value that the scene could not have, at its key."""
        for key, values in every.items():
            place = self._varied[key].place
            with self.template.placed((*PLACE, "vary", key)):
                for row in place.suspects(values):
                    try:
                        place.refuse(values[row])
                    except UserError as error:
                        raise UserError(f"member {self.numbers[row]}: {error}") from None

    def _judge_fields(self) -> None:
        """Refuse fields that are not finite, a mass that is not positive, and a box without a volume."""
        of_field = {one.place.field: key for key, one in self._varied.items() if one.place.field}
        for name, values in self._fields.items():
            key = of_field.get(name) or next(iter(self._keys))
            rows = values.reshape(len(self), -1)
            suspects = ~np.isfinite(rows).all(axis=1) | (name == BOX)
            if name in self.template.stepper.weights:
                suspects |= (rows <= 0.0).any(axis=1)
            with self.template.placed((*PLACE, "vary", key)):
                for row in np.flatnonzero(suspects).tolist():
                    try:
                        refuse_initial_values(self.template, name, values[row])
                    except UserError as error:
                        raise UserError(f"member {self.numbers[row]}: {error}") from None

    def _refuse_too_many(self) -> None:
        """Refuse members that do not fit into memory, before their values are drawn."""
        each = COPIES * sum(values.nbytes for values in self._base.values())
        each += COPIES * sum(8 * one.place.base.size for one in self._varied.values())
        count, left = len(self.numbers), memory.free().count
        cure = f"{left // each:,} fit; run fewer, or one with --member"
        memory.require(count * each, f"{count:,} members", cure)


def refuse_initial_values(simulation: BuiltScene, name: str, values: np.ndarray) -> None:
    """Raise `UserError` for values of an initial field that the stepper or the terms could not take."""
    if not np.isfinite(values).all():
        raise UserError(f"'{name}': needs finite numbers, got infinity or NaN")
    for motion in simulation.stepper.motions:
        if motion.inertia == name:
            refuse_massless(f"'{motion.position}'", values)
    if name == BOX:
        PeriodicBox.of(values[0], simulation.fields.periodic)


def _shown(value: np.ndarray) -> str:
    return f"{value:g}" if value.ndim == 0 else f"shape {list(value.shape)}" if value.size > 4 else str(value)

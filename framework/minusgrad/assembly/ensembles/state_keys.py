"""Keys of `[state]` that an ensemble varies: each member's initial state is made of its own values.

    "state.eccentricity", "state.planets.1.a"       any key of the block, by its path
    "runtime.seed"                                  the seed of states that are drawn at random

The states of all members have the same nodes, lists and grids, and fields of the same shapes; values of
fields and of data of elements, such as lengths at rest, may differ.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from ...energies.fields import State
from ...energies.local_map import LocalMap
from ...energies.term import Term
from ...engine import storage
from ...errors import MinusgradError, PluginError, UserError, unknown
from ...scene.addresses import names_in
from ...scene.ensemble_table import RangeTable, VaryTable
from ...scene.state_tables.sides_table import StateWithSides
from ...scene.toml_positions import KeyPath
from ...scene.units import UnitSystem, base_units, parse_quantity
from ...scene.validation_messages import keys_at
from ..blocks.term_block import TermBlock
from ..built_scene import BuiltScene
from ..contexts import StateContext
from ..registry import blamed
from ..validation import ValidatedScene
from .derived_data import DerivedData
from .varied_keys import KeyPlace

SEED = "runtime.seed"
"""The key of the seed of initial states."""
FREE = ("fields", "data", "labels", "shown", "looks", "compare")
"""The parts of states that may differ between members, or that no member reads."""


@dataclass(frozen=True)
class StateKey:
    """One key of the state's block: its path below `[state]`, and the unit of its numbers; () of the seed."""

    path: KeyPath
    unit: str = "1"

    def written(self, value: np.ndarray, units: UnitSystem) -> Any:
        """A value in the run's units as it is written in a scene; whole numbers as such."""
        name, _, size = units.reported(self.unit)
        named = name != units.symbol(self.unit)
        return _each(value.tolist(), lambda one: f"{one * size!r} {name}" if named else _number(one))


class MemberStates:
    """The initial states of members, made of the values of `keys`; by the template's model of the state."""

    def __init__(self, validated: ValidatedScene, template: BuiltScene, keys: Mapping[str, StateKey]):
        self._validated, self._template, self.keys = validated, template, keys

    def state(self, values: Mapping[str, np.ndarray]) -> State:
        """The state of a member with these values, by key.

        Raises `UserError` for values that the scene could not have, and for a state that differs in more than
        the values of its fields and data.
        """
        made = self._made(values)
        if unlike := next(_differences(self._template.state, made), None):
            raise UserError(
                f"makes a state with {unlike}; members differ in values of fields and data of elements alone"
            )
        return made

    def data(self, state: State) -> dict[str, np.ndarray]:
        """The data of terms, by "term.argument", to which a member's state gives values of its own.

        Raises `UserError` for those of a map.
        """
        return self._data_of_lists(state) | DerivedData(self._template).at(state.fields)

    def _data_of_lists(self, state: State) -> dict[str, np.ndarray]:
        template, found = self._template, {}
        given, first = state.data, template.state.data
        if _alike(given, first):
            return {}
        changed = {a for name in given for a in given[name] if not _alike(given[name][a], first[name][a])}
        for path, term in template.bound.items():
            entry = self._validated.entries.get(path)
            if not isinstance(term, Term) or not changed & term.data.keys() or entry is None:
                continue
            if isinstance(term.energy, LocalMap) or entry.energy is None:
                raise UserError(
                    f"changes the data of '{term.name}', which is a map; vary initial fields instead"
                )
            block = TermBlock(
                entry.energy, self._validated.models[path], state, template.units, template.starting.random
            )
            bound = block.bound(template.fields)[-1]
            for argument in changed & term.data.keys():
                values = storage.host(bound.data[argument]).copy()
                if not np.array_equal(values, storage.host(term.data[argument])):
                    found[f"{term.name}.{argument}"] = values
        return found

    def _made(self, values: Mapping[str, np.ndarray]) -> State:
        scene, units = self._validated.scene, self._template.units
        block, seed = replace(scene.state, values=deepcopy(scene.state.values)), scene.runtime.seed
        for key, value in values.items():
            if key == SEED:
                if not (0 <= value < 2**63 and value == int(value)):
                    raise UserError(f"needs a whole number of at least 0, got {value:g}")
                seed = int(value)
                continue
            *above, last = self.keys[key].path
            table: Any = block.values
            for part in above:
                table = table[part]
            table[last] = self.keys[key].written(value, units)
        entry = self._validated.entries[block.path]
        model, problems = scene.document.validate(block, entry.model)
        if problems:
            raise UserError(f"{problems[0].key}: {problems[0].message}")
        starting = self._template.starting
        context = StateContext(units, seed, starting.folder, starting.files, attached=starting.attached)
        what = f"initial state '{block.kind}'"
        with blamed(entry.owner, f"cannot make the {what}", but=(MinusgradError, MemoryError)):
            context.sides = getattr(model, "sides", {}) if isinstance(model, StateWithSides) else {}
            made = model.make(context)  # type: ignore[union-attr]
        if not isinstance(made, State):
            raise PluginError(f"{entry.owner}: {what} makes a {type(made).__name__}, not a State")
        made = context.with_sides(made)
        return made if (initial := self._template.initial) is None else initial.onto(made)


def state_key(simulation: BuiltScene, model: Any, key: str, how: VaryTable) -> tuple[StateKey, KeyPlace]:
    """A key of the state's block, and its place. Raises `UserError` for a key that it cannot have."""
    if how.body is not None:
        raise UserError("body: belongs to initial fields and parameters, got a key of [state]; leave it out")
    if key == SEED:
        base = np.array(simulation.scene.runtime.seed)
        return StateKey(()), KeyPlace(key, base, "1", base.dtype, of_state=True)
    block = simulation.scene.state
    path: list[str | int] = []
    value: Any = block.values
    for part in key.split(".")[1:]:
        names = names_in(value)
        known = [*names, *(keys_at(model, tuple(path)) if isinstance(value, dict) else ())]
        if part not in known:
            there = [] if path else simulation.fields
            what = f"key of {'.'.join(map(str, path))}" if path else "initial field or key of [state]"
            raise UserError(unknown(what, part, dict.fromkeys([*there, *known])))
        path.append(names.get(part, part))
        value = value[path[-1]] if part in names else {}
    if isinstance(value, dict) and value:
        raise UserError(f"needs one value of [state], got a table; name one of its keys: {', '.join(value)}")
    unit = _unit(key, how)
    written = not isinstance(value, dict)
    if not written and how.kind == "jitter":
        raise UserError("jitter: needs a value in [state] to be about, got none; write it")
    base = _numbers(key, value, unit, simulation.units) if written else np.zeros(_shape(how))
    return StateKey(tuple(path), unit), KeyPlace(key, base, unit, base.dtype, of_state=True)


def _unit(key: str, how: VaryTable) -> str:
    """The unit of the numbers of a key of the state's block: that of the quantities that are written."""
    given = getattr(how, how.kind)
    if isinstance(given, RangeTable):
        given = [given.start, given.to, given.step]
    texts = [f"1 {how.unit}" if how.unit else None] if how.kind == "table" else _flat(given)
    if how.kind == "lognormal":
        texts = _flat(given[0])
    found = {base_units(parse_quantity(one)[1]): one for one in texts if isinstance(one, str)}
    if len(found) > 1:
        raise UserError(f"'{key}': needs quantities of one dimension, got {' and '.join(found.values())}")
    return next(iter(found), "1")


def _numbers(key: str, value: Any, unit: str, units: UnitSystem) -> np.ndarray:
    """The present value of a key, in the run's units. Raises `UserError` for words and ragged lists."""
    if any(isinstance(one, bool) or not isinstance(one, (int, float, str)) for one in _flat(value)):
        raise UserError(f"'{key}' has no number to vary; name another key")
    for one in _flat(value):
        if isinstance(one, str):
            unit = base_units(parse_quantity(one)[1])
    try:
        return np.array(_each(value, lambda one: units.convert(one, unit)), np.float64)
    except ValueError:
        raise UserError(f"'{key}' is a ragged list; vary its elements, as in '{key}.0'") from None


def _shape(how: VaryTable) -> tuple[int, ...]:
    """The shape of one value, as the first one is written."""
    given = getattr(how, how.kind)
    if how.kind == "range":
        return ()
    if how.kind == "table":
        return () if how.column is None or isinstance(how.column, str) else (len(how.column),)
    shape, one = [], given[0]
    while isinstance(one, tuple):
        shape.append(len(one))
        one = one[0]
    return tuple(shape)


def _flat(value: Any) -> list[Any]:
    nested = isinstance(value, (list, tuple))
    return [one for part in value for one in _flat(part)] if nested else [value]


def _each(value: Any, made: Callable[[Any], Any]) -> Any:
    return [_each(one, made) for one in value] if isinstance(value, (list, tuple)) else made(value)


def _number(value: float) -> float | int:
    """A whole number as one, which a key for whole numbers needs and others take."""
    whole = value == round(value) and abs(value) < 2**53 if np.isfinite(value) else False
    return int(value) if whole and str(value) != "-0.0" else value


def _differences(first: State, other: State) -> Iterator[str]:
    """What two states have different, other than the values of fields."""
    shapes = [{name: np.shape(values) for name, values in one.fields.items()} for one in (first, other)]
    for name in shapes[0] | shapes[1]:
        if shapes[0].get(name) != shapes[1].get(name):
            sizes = [str(list(one[name])) if name in one else "none" for one in shapes]
            yield f"another shape of '{name}', {sizes[1]} in place of {sizes[0]}"
    if _shapes(first.data) != _shapes(other.data):
        yield "data of elements of other shapes"
    for part in fields(State):
        if part.name not in FREE and not _alike(getattr(first, part.name), getattr(other, part.name)):
            names = _unlike_bodies(first, other) if part.name == "bodies" else []
            yield f"other nodes in '{names[0]}'" if names else f"other {part.name}"


def _unlike_bodies(first: State, other: State) -> list[str]:
    """The names of bodies that both states have, with other nodes."""
    nodes = {body.name: body.nodes for body in other.bodies}
    return [one.name for one in first.bodies if not _alike(one.nodes, nodes.get(one.name, one.nodes))]


def _shapes(data: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, tuple[int, ...]]]:
    return {name: {a: np.shape(values) for a, values in given.items()} for name, given in data.items()}


def _alike(one: Any, other: Any) -> bool:
    """True if two parts of states have equal values."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if is_dataclass(one) and type(one) is type(other):
        return all(_alike(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)

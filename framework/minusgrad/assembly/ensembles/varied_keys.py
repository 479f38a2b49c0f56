"""The keys that an ensemble varies: parameters and data of terms, initial fields, keys of the state's block.

"gravity.G"      a parameter or datum of a term, or a number of a hold
"state.x"        an initial field, on all nodes or on those of bodies
"state.a"        any other key of `[state]`, of which each member's state is made; by its path
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...energies.roles import Bounded, Datum
from ...energies.term import Term
from ...energies.values.element_data import require_range
from ...engine import storage
from ...errors import UserError, unknown
from ...files.csv_table import CsvTable
from ...potential.potential import Potential
from ...scene.ensemble_table import RangeTable, VaryTable
from ...scene.units import UnitSystem
from ...steppers.supports.hold_numbers import HoldNumbers
from ..building.named_arguments import addresses_of, owner_of
from ..built_scene import BuiltScene
from .ways_to_vary import Varied

STATE = "state"
"""The first part of keys of initial fields, and of keys of `[state]`."""


SHARED = ("stepper", "run", "runtime", "observe", "checkpoint", "box", "units", "fit", "hold")
"""Sections whose keys members do not differ in, because they share times and observations."""


@dataclass(frozen=True)
class KeyPlace:
    """What a key stands for: `base`, its present values, and how a member's values are judged and written.

    unit: an SI unit. roles: the bounds of the values, each with a name.
    """

    key: str
    base: np.ndarray
    unit: str
    dtype: np.dtype
    roles: Sequence[tuple[str, Bounded]] = ()
    put: Callable[[np.ndarray], None] | None = None
    nodes: np.ndarray | None = None
    """The nodes of a field, or the rows of a parameter, that are varied; None: all."""
    field: str = ""
    """The name of an initial field."""
    of_state: bool = False
    """True for a key of which initial states are made."""

    def suspects(self, values: np.ndarray) -> list[int]:
        """The rows of `values` (M, ...) that `refuse` may refuse."""
        rows = values.reshape(len(values), -1).astype(np.float64)
        good = np.isfinite(rows).all(axis=1)
        if self.dtype.kind == "i":
            return np.flatnonzero(~good | (rows != np.rint(rows)).any(axis=1)).tolist()
        limits, sizes = np.finfo(self.dtype), np.abs(rows).max(axis=1, initial=0.0)
        good &= (sizes == 0.0) | ((float(limits.tiny) <= sizes) & (sizes <= float(limits.max)))
        if not all(role.admits(rows) for _, role in self.roles):
            return list(range(len(rows)))
        return np.flatnonzero(~good).tolist()

    def refuse(self, values: np.ndarray) -> None:
        """Raise `UserError` for values (of one member) that the scene could not have."""
        if not np.isfinite(values).all():
            raise UserError("needs finite numbers, got infinity or NaN")
        if self.dtype.kind == "i":
            if (values != np.rint(values)).any():
                raise UserError(f"needs whole numbers, got {values[values != np.rint(values)].flat[0]:g}")
            return
        for what, role in self.roles:
            if not role.admits(values):
                raise UserError(f"{what}: {_worst(values, role):g} is not {role.limits()}")
        require_range(self.key, values, self.dtype)


def _worst(values: np.ndarray, role: Bounded) -> float:
    return float(next(one for one in values.flat if not role.admits(np.array(one))))


class VariedKey(Varied):
    """One key of `[ensemble.vary]`, with the numbers of its table in the run's units.

    shape: of one member's values.
    """

    def __init__(
        self, key: str, how: VaryTable, place: KeyPlace, units: UnitSystem, read: Callable[[str], bytes]
    ):
        self.key, self.place, self.units = key, place, units
        self.shape = (place.base if place.nodes is None else place.base[place.nodes]).shape
        super().__init__(how, read)

    def member(self, values: np.ndarray, base: np.ndarray | None = None) -> np.ndarray:
        """The whole values of one member from those drawn for it: `base` where it is not varied.

        values: of `shape`. base: as `place.base`, which is the default.
        """
        made = np.array(self.place.base if base is None else base, np.float64)
        nodes = slice(None) if self.place.nodes is None else self.place.nodes
        if made.ndim == 0:
            return made + values if self.how.kind == "jitter" else np.asarray(values, np.float64)
        made[nodes] = made[nodes] + values if self.how.kind == "jitter" else values
        return made

    def _numbers_in_unit(self, given: Sequence[Any], plain: bool = False) -> tuple[np.ndarray, ...]:
        return tuple(self._shaped(one, "1" if plain else None) for one in given)

    def _shaped(self, given: Any, unit: str | None = None) -> np.ndarray:
        """Numbers or quantities as an array of `shape`: one for all, one value, or all values."""
        try:
            values = np.array(self._converted(given, unit or self.place.unit), np.float64)
        except ValueError as error:
            if "inhomogeneous" in str(error):
                raise UserError("needs lists of one length, got a ragged one; correct it") from None
            raise
        if values.shape not in ((), self.shape, self.shape[1:]):
            one = f", {list(self.shape[1:])}" if len(self.shape) > 1 else ""
            raise UserError(
                f"needs values of shape {list(self.shape)}{one} or one number, got {list(values.shape)};"
                " reshape it"
            )
        return np.broadcast_to(values, self.shape)

    def _converted(self, given: Any, unit: str) -> Any:
        if isinstance(given, (list, tuple)):
            return [self._converted(one, unit) for one in given]
        return self.units.convert(given, UnitSystem.si().symbol(unit))

    def _range_values(self, table: RangeTable) -> np.ndarray:
        """The values of a range, (n, *shape)."""
        first, last, step = (
            self._converted(one, self.place.unit) for one in (table.start, table.to, table.step or 0.0)
        )
        values = self._equidistant(table, first, last, step)
        return np.stack([np.broadcast_to(one, self.shape) for one in values])

    def _column_values(self, file: str) -> np.ndarray:
        """The values of one column, or of one for each number, (n, *shape)."""
        table = CsvTable(file, self._read(file))
        named = self.how.column or self.key
        names = (named,) if isinstance(named, str) else named
        columns = np.stack([table.numbers(name) for name in names], axis=1)
        size = int(np.prod(self.shape))
        if columns.shape[1] not in (1, size):
            raise UserError(
                f"column: needs 1 column or {size}, one for each number of '{self.key}', got"
                f" {columns.shape[1]}; name them"
            )
        unit = self._converted(f"1 {table_unit}", self.place.unit) if (table_unit := self.how.unit) else 1.0
        rows = np.broadcast_to(columns * unit, (len(columns), size))
        return rows.reshape(-1, *self.shape)


def place_of(simulation: BuiltScene, key: str, how: VaryTable, base: Mapping[str, np.ndarray]) -> KeyPlace:
    """What a key stands for in a simulation, whose initial fields are `base`.

    Raises `UserError` for a key that does not exist.
    """
    if (name := field_of(key, base)) is not None:
        return _of_field(simulation, key, name, how, base[name])
    if "." not in key:
        meant = [f"{STATE}.{key}"] if key in base else addresses_of(simulation, key) or [f"TERM.{key}"]
        raise UserError(f"needs a key of two parts, got '{key}'; write {' or '.join(map(repr, meant))}")
    if (section := key.partition(".")[0]) in SHARED:
        raise UserError(
            f"members share [{section}], got '{key}'; sweep it (`minusgrad sweep`), or vary a parameter of a"
            " term, an initial field or a key of [state]"
        )
    made = place_of_term(simulation, key)
    if how.body is None:
        return made
    return replace(made, nodes=_rows_of(simulation, key, how.body))


def field_of(key: str, base: Mapping[str, np.ndarray]) -> str | None:
    """The name of the initial field that a key means; None for a key that means something else."""
    first, _, rest = key.partition(".")
    return rest if first == STATE and rest in base else None


def _of_field(simulation: BuiltScene, key: str, name: str, how: VaryTable, base: np.ndarray) -> KeyPlace:
    field = simulation.fields[name]
    bodies = simulation.bodies(how.body, len(field))
    nodes = np.unique(np.concatenate([b.nodes for b in bodies])) if bodies else None
    roles = [(what, role) for what, role in simulation.potential.roles_of(name) if isinstance(role, Bounded)]
    return KeyPlace(key, base, field.unit, simulation.fields.dtype, roles, None, nodes, name)


def place_of_term(simulation: BuiltScene, key: str) -> KeyPlace:
    """A parameter or datum of a term, whatever it is part of, or a number of a hold."""
    owner = owner_of(simulation, key, "; initial fields are 'state.FIELD'")
    if isinstance(owner, HoldNumbers):
        put = partial(owner.set_parameter, key)
        return KeyPlace(key, owner.parameter(key), owner.unit(key), np.dtype(np.float64), (), put)
    term, argument = owner.places_of(key)[0]
    if term not in owner.parts:
        block, argument = key.split(".", 1)
        raise UserError(f"{block}: {unknown('parameter', argument, owner.common.of_block(block))}")
    part = owner.parts[term]
    role = part.energy.roles.get(argument)
    if isinstance(part, Term) and argument in part.data and isinstance(role, Datum):
        held = storage.host(part.data[argument])
        return KeyPlace(key, held.copy(), role.unit, held.dtype, (), partial(part.set_datum, argument))
    known = [a for a in part.parameters if a in part.energy.roles] if isinstance(part, Term) else part.inputs
    if argument not in known:
        listed = [*known, *(part.data if isinstance(part, Term) else ())]
        raise UserError(f"{term}: {unknown('parameter or datum', argument, listed)}")
    roles = [(key, role)] if isinstance(role, Bounded) else []
    values = owner.parameter(key)
    return KeyPlace(key, values, role.unit, simulation.fields.dtype, roles, partial(owner.set_parameter, key))


def _rows_of(simulation: BuiltScene, key: str, names: str | tuple[str, ...]) -> np.ndarray:
    """The rows of a parameter's or datum's values that are of elements of bodies.

    Raises `UserError` where elements of other bodies share them.
    """
    owner = owner_of(simulation, key)
    term, argument = owner.places_of(key)[0] if isinstance(owner, Potential) else ("", "")
    part = owner.parts[term] if isinstance(owner, Potential) else None
    index, elements, inside = None, np.zeros((0, 1), int), np.zeros(0, dtype=np.bool_)
    if isinstance(part, Term) and part.elements.own_values:
        elements, inside = np.asarray(part.elements.nodes), np.zeros(part.nodes, dtype=np.bool_)
        index = np.arange(len(elements)) if argument in part.data else part.parameters[argument].index
    if index is None:
        raise UserError(
            "body: needs a value for each body or element, got one for all; give the block a value for each"
            " body, as in k = { left = 1.0, right = 2.0 }, or leave it out"
        )
    known = part.in_bodies if isinstance(part, Term) else {}
    for body in simulation.bodies(names):
        inside[body.nodes] |= body.name not in known
    own = inside[elements].all(axis=1)
    for body in simulation.bodies(names):
        own |= known.get(body.name, False)
    found = np.unique(index[own])
    if not len(found) or np.isin(index[~own], found).any():
        listed = ", ".join((names,) if isinstance(names, str) else names)
        why = "which elements of other bodies share" if len(found) else "which has none"
        raise UserError(f"body: needs values of elements of {listed} alone, got '{key}', {why}; leave it out")
    return found

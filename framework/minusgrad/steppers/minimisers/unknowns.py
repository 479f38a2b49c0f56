"""The unknowns of a minimiser: free components of fields, as one vector of scaled variables.

    z = x / scale        dU/dz = scale dU/dx        lower <= x <= upper

z (N,) holds the free components of all unknown fields, one field after another, in double precision.
A field keeps its own precision: a point is the values that the fields hold after it was written into them.

Decisions 0298, 0304.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...energies.roles import Bounded
from ...engine import storage
from ...errors import EnergyError
from ...solvers.row_selection import RowSelection
from .objective import Objective


@dataclass(frozen=True)
class Unknown:
    """A field that a minimiser solves for.

    `scale` and the bounds are in the field's unit; the scale is the size of a physically meaningful change.
    `rate` multiplies this field's step in methods of first order.
    """

    field: str
    scale: float = 1.0
    lower: float = -math.inf
    upper: float = math.inf
    rate: float = 1.0


@dataclass(frozen=True)
class Outside:
    """The nodes of a field that began outside its bounds, how many of how many, and the largest distance."""

    field: str
    unit: str
    nodes: int
    of: int
    bounds: tuple[float, float]
    farthest: float

    def text(self, unit: str) -> str:
        """In words, with the symbol of the field's unit in the run's units."""
        after = "" if unit == "1" else f" {unit}"
        return (
            f"field '{self.field}': {self.nodes:,} of {self.of:,} nodes began outside its bounds,"
            f" {self.bounds[0]:.6g} to {self.bounds[1]:.6g}{after}, and were moved onto them, by up to"
            f" {self.farthest:.6g}{after}; widen the bounds, or move the start"
        )


class ScaledVariables:
    """The free components of the unknown fields: as values x, and as scaled variables z with their bounds.

    `free`: the mask of each unknown field (`holds`). Raises `EnergyError` for unknowns and masks that do not
    fit the objective.
    """

    def __init__(self, objective: Objective, unknowns: Sequence[Unknown], free: Mapping[str, np.ndarray]):
        _check(objective, unknowns, free)
        kept = [_within_roles(objective, unknown) for unknown in unknowns]
        self._parts = [_Part(objective.fields[u.field], u, free[u.field]) for u in kept]
        self.scale = self._each(lambda part: part.unknown.scale)
        self.rate = self._each(lambda part: part.unknown.rate)
        self._bounds = self._each(lambda part: part.lower), self._each(lambda part: part.upper)
        self.lower, self.upper = (bound / self.scale for bound in self._bounds)
        self.selection = RowSelection(self.rows)
        if not (self.lower < self.upper).any():
            raise EnergyError("unknowns: no component is free to move, all are held or fixed by their bounds")

    def __len__(self) -> int:
        return len(self.scale)

    @property
    def fields(self) -> list[Field]:
        """The unknown fields."""
        return [part.field for part in self._parts]

    def read(self) -> np.ndarray:
        """x (N,): the values that the fields hold."""
        return self._gathered([part.field.values for part in self._parts])

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """z of the values x that the fields hold."""
        return x / self.scale

    def write(self, z: np.ndarray) -> np.ndarray:
        """Set the fields to z, or to the nearest point within the bounds; returns x as then stored."""
        self.put(self.inside(z))
        return self.read()

    def inside(self, z: np.ndarray) -> np.ndarray:
        """x of scaled variables (..., N) within the bounds, or on them where z is beyond."""
        lower, upper = self._bounds
        with np.errstate(over="ignore", invalid="ignore"):
            inside = np.clip(z * self.scale, lower, upper)
            return np.where(z <= self.lower, lower, np.where(z >= self.upper, upper, inside))

    def confined(self, x: np.ndarray) -> np.ndarray:
        """Values x (..., N) moved into their bounds."""
        return np.clip(x, *self._bounds)

    @property
    def bounded(self) -> bool:
        """True if a component has a bound."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    def confine(self) -> list[Outside]:
        """Move components that are outside their bounds onto them; the others keep their bits.

        Returns the fields that had some.
        """
        found = [outside for part in self._parts if (outside := part.outside())]
        if found:
            self.put(np.clip(self.read(), *self._bounds))
        return found

    def put(self, x: np.ndarray) -> None:
        """Set the fields to x, bit for bit."""
        start = 0
        for part in self._parts:
            whole = part.field.values.copy()
            whole.reshape(-1)[part.places] = x[start : start + part.count]
            part.field.set(whole)
            start += part.count

    def directions(self) -> list[dict[str, np.ndarray]]:
        """dx/dz_k for each k, as arrays of the fields' shapes by field."""
        return [self.spread(row) for row in np.diag(self.scale)]

    def spread(self, components: np.ndarray) -> dict[str, np.ndarray]:
        """Components (N,) as arrays of the fields' shapes, by field; zero where a field is held."""
        found, start = {}, 0
        for part in self._parts:
            whole = np.zeros(part.field.values.size, components.dtype)
            whole[part.places] = components[start : start + part.count]
            found[part.field.name] = whole.reshape(part.field.shape)
            start += part.count
        return found

    @property
    def rows(self) -> np.ndarray:
        """The rows (N,) of a Hessian over the fields, in their order, that belong to z."""
        return np.flatnonzero(np.concatenate([np.ravel(part.free) for part in self._parts]))

    @property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """The node of each component of z, numbered through all fields, and which component it is: (N,)."""
        node, component, first = [], [], 0
        for part in self._parts:
            count = len(part.field.values)
            numbers = np.arange(part.field.values.size)[part.places]
            width = part.field.values.size // count
            node.append(first + numbers // width)
            component.append(numbers % width)
            first += count
        return np.concatenate(node), np.concatenate(component)

    def components(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The components of z (N,) of arrays of the fields' shapes, by field: the inverse of `spread`."""
        return self._gathered([np.asarray(arrays[part.field.name]) for part in self._parts])

    def slope(self, gradients: Mapping[str, Any]) -> np.ndarray:
        """dU/dz (N,), from arrays of dU/dx by field."""
        return self.scale * self._gathered([storage.host(gradients[part.field.name]) for part in self._parts])

    def pinned(self, z: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Which components (N,) are at a bound that a step downhill would cross."""
        return ((z <= self.lower) & (slope > 0)) | ((z >= self.upper) & (slope < 0))

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that a resumed search needs; none, as far as z depends on the fields alone."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the values that `state` returned."""

    def _gathered(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        pieces = [a.reshape(-1)[part.places] for a, part in zip(arrays, self._parts, strict=True)]
        return np.concatenate(pieces, dtype=np.float64)

    def _each(self, number: Any) -> np.ndarray:
        """One number of each field, repeated for its components."""
        return np.concatenate([np.full(part.count, float(number(part))) for part in self._parts])


class _Part:
    """The free components of one field; its bounds are rounded to the field's precision."""

    def __init__(self, field: Field, unknown: Unknown, free: np.ndarray):
        self.field, self.unknown = field, unknown
        chosen = np.flatnonzero(free)
        self.count, self.free = len(chosen), free
        self.places = slice(None) if self.count == field.values.size else chosen
        self.lower, self.upper = field.dtype.type(unknown.lower), field.dtype.type(unknown.upper)

    def outside(self) -> Outside | None:
        """The free components beyond the bounds; None if there are none."""
        x = self.field.values
        with np.errstate(invalid="ignore"):
            far = np.where(self.free, np.maximum(self.lower - x, x - self.upper), 0.0).reshape(len(x), -1)
        if not (far > 0.0).any():
            return None
        nodes, bounds = int(np.count_nonzero((far > 0.0).any(axis=1))), (float(self.lower), float(self.upper))
        return Outside(self.field.name, self.field.unit, nodes, len(x), bounds, float(far.max()))


def _check(objective: Objective, unknowns: Sequence[Unknown], free: Mapping[str, np.ndarray]) -> None:
    if not unknowns:
        raise EnergyError("unknowns: none is given; name at least one field")
    names = [u.field for u in unknowns]
    for unknown in unknowns:
        _check_unknown(objective, unknown)
    if twice := [n for n in names if names.count(n) > 1]:
        raise EnergyError(f"unknowns: '{twice[0]}' is given twice; give it once")
    if strange := [n for n in free if n not in names]:
        raise EnergyError(f"free: '{strange[0]}' is not among the unknowns; leave its mask out")
    if missing := [n for n in names if n not in free]:
        raise EnergyError(f"free: no mask for '{missing[0]}'; give one for each unknown, or leave `free` out")
    for name, mask in free.items():
        shape = objective.fields[name].shape
        if np.shape(mask) != shape or np.asarray(mask).dtype != bool:
            given = f"{np.asarray(mask).dtype} of shape {list(np.shape(mask))}"
            raise EnergyError(f"free['{name}']: needs booleans of shape {list(shape)}, got {given}")


def _check_unknown(objective: Objective, unknown: Unknown) -> None:
    name = objective.fields[unknown.field].name
    if name in objective.map_outputs:
        made_of = ", ".join(sorted(objective.reads))
        raise EnergyError(f"'{name}': is computed by a map; seek the fields that it depends on: {made_of}")
    bound = objective.reads
    if name not in bound:
        raise EnergyError(
            f"'{name}': no energy depends on it, so it has no minimum (they depend on:"
            f" {', '.join(sorted(bound))})"
        )
    positive(f"'{name}': scale", unknown.scale)
    positive(f"'{name}': rate", unknown.rate)
    if not unknown.lower <= unknown.upper:
        raise EnergyError(f"'{name}': its lower bound {unknown.lower:g} is above its upper {unknown.upper:g}")


def _within_roles(objective: Objective, unknown: Unknown) -> Unknown:
    """The unknown within the bounds of the roles that its field plays.

    Raises `EnergyError` where it could reach an open bound: there the energy has no value.
    """
    held = objective.fields[unknown.field].dtype.type
    unknown = replace(unknown, lower=float(held(unknown.lower)), upper=float(held(unknown.upper)))
    for name, role in objective.roles_of(unknown.field):
        unknown = within_role(unknown, name, role)
    return unknown


def within_role(unknown: Unknown, what: str, role: Bounded) -> Unknown:
    """The unknown within the bounds of a role that it plays as argument `what`; raises `EnergyError`."""
    low, high = role.bounds
    sides = ("lower", low, unknown.lower <= low), ("upper", high, unknown.upper >= high)
    for (side, bound, reached), excluded in zip(sides, role.excluded, strict=True):
        if excluded and math.isfinite(bound) and reached:
            beyond = f"{'above' if side == 'lower' else 'below'} {bound:g}"
            raise EnergyError(
                f"'{unknown.field}' could reach {bound:g}, and {what} is only defined"
                f" {role.limits()}: give it a `{side}` bound {beyond}"
            )
    return replace(unknown, lower=max(unknown.lower, low), upper=min(unknown.upper, high))


def positive(what: str, value: float) -> float:
    """The value, if it is positive and finite; else raises `EnergyError`."""
    if not 0.0 < value < math.inf:
        raise EnergyError(f"{what} must be positive and finite, got {value:g}")
    return value

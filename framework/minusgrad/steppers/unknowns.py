"""What a minimiser looks for: components of fields, as one vector in scaled variables.

    z = x / scale        dU/dz = scale dU/dx        lower <= x <= upper

z (N,) holds the free components of all unknown fields, one field after another, in double precision.
A field keeps its own precision: what counts is what it holds after a point was written into it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..energies.fields import Field
from ..energies.local_energy import Bounded, Node
from ..engine import storage
from ..errors import EnergyError
from ..potential.potential import Potential


@dataclass(frozen=True)
class Unknown:
    """A field to be found.

    `scale` and the bounds are in the field's unit; the scale is the size of a physically meaningful change.
    `rate` multiplies this field's step in methods of first order.
    """

    field: str
    scale: float = 1.0
    lower: float = -math.inf
    upper: float = math.inf
    rate: float = 1.0


class ScaledVariables:
    """The free components of the unknown fields: as values x, and as scaled variables z with their bounds."""

    def __init__(self, potential: Potential, unknowns: Sequence[Unknown], free: Mapping[str, np.ndarray]):
        _check(potential, unknowns, free)
        kept = [_within_roles(potential, unknown) for unknown in unknowns]
        self._parts = [_Part(potential.fields[u.field], u, free.get(u.field)) for u in kept]
        self.scale = self._each(lambda part: part.unknown.scale)
        self.rate = self._each(lambda part: part.unknown.rate)
        self._bounds = self._each(lambda part: part.lower), self._each(lambda part: part.upper)
        self.lower, self.upper = (bound / self.scale for bound in self._bounds)
        if not (self.lower < self.upper).any():
            raise EnergyError("everything is held: no component of an unknown field is free to move")

    def __len__(self) -> int:
        return len(self.scale)

    @property
    def fields(self) -> list[Field]:
        """The unknown fields."""
        return [part.field for part in self._parts]

    def read(self) -> np.ndarray:
        """x: the values that the fields hold."""
        return self._gathered([part.field.values for part in self._parts])

    def write(self, z: np.ndarray) -> np.ndarray:
        """Move the fields to z, or to the nearest point within the bounds; returns x, what they hold then."""
        lower, upper = self._bounds
        with np.errstate(over="ignore", invalid="ignore"):
            inside = np.clip(z * self.scale, lower, upper)
            self.put(np.where(z <= self.lower, lower, np.where(z >= self.upper, upper, inside)))
        return self.read()

    def put(self, x: np.ndarray) -> None:
        """Give the fields these values, bit for bit."""
        start = 0
        for part in self._parts:
            whole = part.field.values.copy()
            whole.reshape(-1)[part.places] = x[start : start + part.count]
            part.field.set(whole)
            start += part.count

    def spread(self, components: np.ndarray) -> dict[str, np.ndarray]:
        """Components as arrays of the fields' shapes, by field; zero where nothing is free."""
        found, start = {}, 0
        for part in self._parts:
            whole = np.zeros(part.field.values.size, components.dtype)
            whole[part.places] = components[start : start + part.count]
            found[part.field.name] = whole.reshape(part.field.shape)
            start += part.count
        return found

    def slope(self, gradients: Mapping[str, Any]) -> np.ndarray:
        """dU/dz, from arrays of dU/dx by field."""
        return self.scale * self._gathered([storage.host(gradients[part.field.name]) for part in self._parts])

    def pinned(self, z: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The components at a bound that a step downhill would carry beyond it."""
        return ((z <= self.lower) & (slope > 0)) | ((z >= self.upper) & (slope < 0))

    def _gathered(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        pieces = [a.reshape(-1)[part.places] for a, part in zip(arrays, self._parts, strict=True)]
        return np.concatenate(pieces, dtype=np.float64)

    def _each(self, number: Any) -> np.ndarray:
        """One number of each field, repeated for its components."""
        return np.concatenate([np.full(part.count, float(number(part))) for part in self._parts])


class _Part:
    """The free components of one field; its bounds as the field's precision holds them."""

    def __init__(self, field: Field, unknown: Unknown, free: np.ndarray | None):
        self.field, self.unknown = field, unknown
        chosen = np.flatnonzero(np.ones(field.shape, bool) if free is None else free)
        self.count = len(chosen)
        self.places = slice(None) if self.count == field.values.size else chosen
        self.lower, self.upper = field.dtype.type(unknown.lower), field.dtype.type(unknown.upper)


def _check(potential: Potential, unknowns: Sequence[Unknown], free: Mapping[str, np.ndarray]) -> None:
    if not unknowns:
        raise EnergyError("nothing is to be found: name at least one unknown field")
    names = [u.field for u in unknowns]
    for unknown in unknowns:
        _check_unknown(potential, unknown)
    if twice := [n for n in names if names.count(n) > 1]:
        raise EnergyError(f"'{twice[0]}' is named twice among the unknowns")
    if strange := [n for n in free if n not in names]:
        raise EnergyError(f"'{strange[0]}' is no unknown: its free components mean nothing")
    for name, mask in free.items():
        shape = potential.fields[name].shape
        if np.shape(mask) != shape or np.asarray(mask).dtype != bool:
            given = f"{np.asarray(mask).dtype} of shape {list(np.shape(mask))}"
            raise EnergyError(f"free['{name}']: needs true or false, shape {list(shape)}, got {given}")


def _check_unknown(potential: Potential, unknown: Unknown) -> None:
    name = potential.fields[unknown.field].name
    if name in potential.given:
        made_of = ", ".join(sorted(potential.reads))
        raise EnergyError(f"'{name}' is what maps give; look for what it is made of: {made_of}")
    bound = potential.reads
    if name not in bound:
        raise EnergyError(
            f"no energy depends on '{name}': nothing says where it should be (they depend on:"
            f" {', '.join(sorted(bound))})"
        )
    positive(f"'{name}': its scale", unknown.scale)
    positive(f"'{name}': its rate", unknown.rate)
    if not unknown.lower <= unknown.upper:
        raise EnergyError(f"'{name}': its lower bound {unknown.lower:g} is above its upper {unknown.upper:g}")


def _within_roles(potential: Potential, unknown: Unknown) -> Unknown:
    """The unknown within the bounds of the roles that its field plays.

    Raises `EnergyError` where it could reach an open bound: there the energy has no value.
    """
    held = potential.fields[unknown.field].dtype.type
    unknown = replace(unknown, lower=float(held(unknown.lower)), upper=float(held(unknown.upper)))
    for name, part in potential.parts.items():
        for argument, role in part.energy.of_role(Node).items():
            if part.fields[argument].name == unknown.field:
                unknown = within_role(unknown, f"{name}.{argument}", role)
    return unknown


def within_role(unknown: Unknown, what: str, role: Bounded) -> Unknown:
    """The unknown within the bounds of a role that it plays as argument `what`; raises `EnergyError`."""
    low, high = role.bounds
    reach = ("lower", low, unknown.lower <= low), ("upper", high, unknown.upper >= high)
    for side, bound, reached in reach:
        if role.open and math.isfinite(bound) and reached:
            beyond = f"{'above' if side == 'lower' else 'below'} {bound:g}"
            raise EnergyError(
                f"'{unknown.field}' could reach {bound:g}, and {what} is only defined"
                f" {role.limits()}: give it a `{side}` bound {beyond}"
            )
    return replace(unknown, lower=max(unknown.lower, low), upper=min(unknown.upper, high))


def positive(what: str, value: float) -> float:
    """The value, if it is a positive number; else `EnergyError`."""
    if not 0.0 < value < math.inf:
        raise EnergyError(f"{what} = {value:g}: it must be positive")
    return value

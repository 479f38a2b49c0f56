"""Shapes of obstacles, loads and supports around the bodies of a scene, as pictures draw them.

An energy names the function that gives its shapes from its parameters, `local_energy(..., looks=...)`.
All numbers are in the run's units. `table` writes a shape as JSON-able data, which the meta of a checkpoint
keeps, and `shape` reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..errors import EnergyError

Vector = Any
"""Numbers (d,)."""


@dataclass(frozen=True)
class Plane:
    """An obstacle that fills the half space behind a plane: a floor or a wall.

    point (d,) [m] on the plane; normal (d,), of any length, to the free side.
    """

    point: Vector
    normal: Vector


@dataclass(frozen=True)
class Sphere:
    """An obstacle within a sphere, in the plane a disc: centre (d,) [m], radius [m]."""

    centre: Vector
    radius: float


@dataclass(frozen=True)
class Cuboid:
    """An obstacle within a rectangle or cuboid along the axes: lowest and highest corner (d,) [m]."""

    low: Vector
    high: Vector


@dataclass(frozen=True)
class Facets:
    """An obstacle within a closed surface in space: corners (F, 3, 3) [m] of flat facets, outwards."""

    corners: Any


@dataclass(frozen=True)
class Force:
    """A load of fixed direction on each element of a term: (d,), or (elements, d) if it differs."""

    vector: Vector


@dataclass(frozen=True)
class Pressure:
    """A load against the outward normal of facets. Their nodes are the elements of a term."""

    pressure: float


@dataclass(frozen=True)
class Acceleration:
    """A uniform acceleration, such as gravity. vector: (d,), of all elements of a term."""

    vector: Vector


Shape = Plane | Sphere | Cuboid | Facets | Force | Pressure | Acceleration
OBSTACLES = (Plane, Sphere, Cuboid, Facets)
LOADS = (Force, Pressure, Acceleration)
KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in (*OBSTACLES, *LOADS)}


def table(shape: Shape) -> dict[str, Any]:
    """A shape as JSON-able data: its `kind` and its numbers.

    Raises `EnergyError` if it is no shape, or if one of its numbers is not finite.
    """
    kind = type(shape).__name__.lower()
    if KINDS.get(kind) is not type(shape):
        raise EnergyError(f"looks: gives a {type(shape).__name__}, not one of {', '.join(KINDS)}")
    numbers = {f.name: (np.asarray(getattr(shape, f.name), float) + 0.0).tolist() for f in fields(shape)}
    if strange := [name for name, value in numbers.items() if not np.isfinite(value).all()]:
        raise EnergyError(f"looks: {strange[0]} of a {kind} must be finite, got {numbers[strange[0]]}")
    return {"kind": kind, **numbers}


def shape(saved: Mapping[str, Any]) -> Shape:
    """The shape of such data, with arrays for lists."""
    kind = KINDS[saved["kind"]]
    return kind(**{f.name: np.asarray(saved[f.name], float)[()] for f in fields(kind)})

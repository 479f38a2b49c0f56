"""Shapes of shells at rest: plates, rings, parts of cylinders and spheres, twisted strips, surfaces of files.

    plate       x = (L u, W v, 0)
    annulus     x = r (cos a, sin a, 0),                          r = r_2 - (r_2 - r_1) v,  a = A u
    cylinder    x = (R sin a, L v, R cos a),                      a = a_0 + A u
    sphere      x = R (cos b cos a, cos b sin a, sin b),          a = A u,  b = b_1 + (b_2 - b_1) v
    strip       x = (L u, w cos a, w sin a),                      w = W (v - 1/2),  a = A u

u and v from 0 to 1 are along the sides; u is replaced by u^g, v by v^h with two numbers `grading`, so that
nodes crowd at u = 0, v = 0 where they are above 1. Normals are outwards, of the flat ones along z.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import ByKind, Quantity, Record, UserError
from minusgrad_elastic.states import Length

Angle = Annotated[float | str, Quantity("rad")]
Positive = Annotated[float | str, Quantity("rad", "positive")]
Place = Callable[[np.ndarray, np.ndarray], np.ndarray]
TURN = 2.0 * np.pi


class Plate(Record):
    """A flat rectangle in the plane of x and y."""

    kind: Literal["plate"] = "plate"
    """A flat rectangle."""
    size: tuple[Length, Length]
    """Lengths of the sides along x and y."""

    def place(self, values: dict[str, Any]) -> Place:
        length, width = values["size"]
        return lambda u, v: np.stack([length * u, width * v, 0.0 * u], axis=1)


class Annulus(Record):
    """A flat ring in the plane of x and y, cut open along x."""

    kind: Literal["annulus"] = "annulus"
    """A flat ring that is cut open."""
    radii: tuple[Length, Length]
    """Inner and outer radius."""
    angle: Positive = "360 deg"
    """Angle from `left`, which is on the axis x, to `right`; at most a turn."""

    def place(self, values: dict[str, Any]) -> Place:
        (inner, outer), angle = values["radii"], values["angle"]
        if not inner < outer:
            raise UserError(f"shape.radii: must grow, got {list(self.radii)}; give the inner one first")
        at_most_a_turn("shape.angle", angle)

        def place(u: np.ndarray, v: np.ndarray) -> np.ndarray:
            r, a = outer + (inner - outer) * v, angle * u
            return np.stack([r * np.cos(a), r * np.sin(a), 0.0 * a], axis=1)

        return place


class Cylinder(Record):
    """A part of a circular cylinder around the axis y; of a whole turn it is closed."""

    kind: Literal["cylinder"] = "cylinder"
    """A part of a cylinder, or a closed one."""
    radius: Length
    """Radius."""
    length: Length
    """Length along the axis."""
    angle: Positive = "360 deg"
    """Angle of the arc; 360 deg is a closed cylinder, without `left` and `right`."""
    start: Angle = 0.0
    """Angle of `left`, from z towards x."""

    def place(self, values: dict[str, Any]) -> Place:
        radius, length, angle, start = (values[key] for key in ("radius", "length", "angle", "start"))
        at_most_a_turn("shape.angle", angle)

        def place(u: np.ndarray, v: np.ndarray) -> np.ndarray:
            a = start + angle * u
            return np.stack([radius * np.sin(a), length * v, radius * np.cos(a)], axis=1)

        return place


class SpherePart(Record):
    """A part of a sphere around the axis z, between two latitudes; of a whole turn it is closed."""

    kind: Literal["sphere"] = "sphere"
    """A part of a sphere."""
    radius: Length
    """Radius."""
    angle: Positive = "360 deg"
    """Angle about z, from the plane of x and z; 360 deg is closed, without `left` and `right`."""
    latitudes: tuple[Angle, Angle]
    """Angles from the equator of `bottom` and `top`, within 90 deg: at a pole triangles have no area."""

    def place(self, values: dict[str, Any]) -> Place:
        radius, angle, (low, high) = values["radius"], values["angle"], values["latitudes"]
        at_most_a_turn("shape.angle", angle)
        if not -0.25 * TURN < low < high < 0.25 * TURN:
            raise UserError(
                f"shape.latitudes: must grow within 90 deg, got {list(self.latitudes)}; leave out the pole"
            )

        def place(u: np.ndarray, v: np.ndarray) -> np.ndarray:
            a, b = angle * u, low + (high - low) * v
            level = radius * np.cos(b)
            return np.stack([level * np.cos(a), level * np.sin(a), radius * np.sin(b)], axis=1)

        return place


class TwistedStrip(Record):
    """A strip along x whose cross-section, along y at the start, turns about x."""

    kind: Literal["strip"] = "strip"
    """A strip that is twisted."""
    length: Length
    """Length along x."""
    width: Length
    """Width."""
    twist: Angle
    """Angle by which the end is turned about x."""

    def place(self, values: dict[str, Any]) -> Place:
        length, width, twist = values["length"], values["width"], values["twist"]

        def place(u: np.ndarray, v: np.ndarray) -> np.ndarray:
            w, a = width * (v - 0.5), twist * u
            return np.stack([length * u, w * np.cos(a), w * np.sin(a)], axis=1)

        return place


class SurfaceFile(Record):
    """A surface from a file (STL, OBJ, PLY, OFF), with the extra `mesh`."""

    kind: Literal["file"] = "file"
    """A surface from a file."""
    file: str
    """File beside the scene."""
    length: str
    """Unit of the coordinates in the file."""


PatchShape = Plate | Annulus | Cylinder | SpherePart | TwistedStrip
AnyShape = Annotated[PatchShape | SurfaceFile, ByKind()]
Grading = Annotated[float, Field(gt=0.0, le=10.0)]


def at_most_a_turn(key: str, angle: float) -> None:
    """Raises `UserError` for an angle above 360 deg."""
    if angle > TURN * (1.0 + 1e-12):
        raise UserError(f"{key}: is at most a turn, got {angle:g} rad; give 360 deg")


def is_closed(shape: PatchShape, values: dict[str, Any]) -> bool:
    """True if the side u = 1 is the side u = 0."""
    return isinstance(shape, Cylinder | SpherePart) and values["angle"] > TURN * (1.0 - 1e-9)

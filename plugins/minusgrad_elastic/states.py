"""Initial states of elastic bodies: x (n, d), v (n, d), m (n,), undeformed, with one velocity, in run units.

    list        rows          data of its elements
    cells       (E, d + 1)    gradients (d + 1, d) of the shape functions [1/m], volume [m^3]
    edges       (K, 2)        rest [m], their length
    boundary    (B, d)        area [m^2]

In the plane a body is a sheet of some thickness (default 1 m), under plane strain. Where a mesh
has cells of several kinds (Gmsh's physical groups), each kind is a list of its own beside `cells`.
"""

from collections.abc import Callable, Mapping, Sequence
from math import factorial, prod
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from minusgrad.plugin import (
    Body,
    Motion,
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    memory,
    quantities,
)

from . import generators, gmsh
from .foreign import read as read_foreign
from .inspection import inspect
from .mesh import Mesh

Length = Annotated[float | str, Quantity("m", "positive")]
Place = Annotated[float | str, Quantity("m")]
Speed = Annotated[float | str, Quantity("m s^-1")]
Count = Annotated[int, Field(ge=1)]


def fitting(cells: Callable[[Any], int]) -> AfterValidator:
    """Validator of a mesh's resolution: its cells must fit into the memory, 1000 bytes each."""

    def judge(parts: Any) -> Any:
        count = cells(parts)
        memory.require(1000 * count, f"{count} cells", error=ValueError)
        return parts

    return AfterValidator(judge)


Parts = Annotated[tuple[Count, Count, Count], fitting(lambda parts: 6 * prod(parts))]


class Solid(Record):
    """A body of one density [kg/m^3], moved by `origin`, with one velocity; a thickness in the plane only."""

    density: Annotated[float | str, Quantity("kg m^-3", "positive")]
    thickness: Length | None = None
    origin: tuple[Place, ...] = ()
    velocity: tuple[Speed, ...] = ()

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        mesh = self.mesh(values, context)
        d, thickness = mesh.dimension, values["thickness"]
        if d == 3 and thickness is not None:
            raise UserError("thickness: a body in space has none; leave it out")
        for key in ("origin", "velocity"):
            if len(values[key]) not in (0, d):
                raise UserError(f"{key}: {len(values[key])} numbers for {d} axes")
        metre = 1.0 / context.units.in_si("m")
        return solid(mesh, values["density"], thickness or metre, values["origin"], values["velocity"])

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        """Undeformed, where it was made; `values` are the block's, in the run's units."""
        raise NotImplementedError


class Rectangle(Solid):
    """A rectangle with a corner at the origin, in parts of 2 triangles; sides left, right, bottom, top."""

    size: tuple[Length, Length]
    cells: Annotated[tuple[Count, Count], fitting(lambda parts: 2 * prod(parts))]

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        return generators.rectangle(values["size"], self.cells)


class Box(Solid):
    """A box with a corner at the origin, in parts of 6 tetrahedra.

    Sides: left, right (x), front, back (y), bottom, top (z).
    """

    size: tuple[Length, Length, Length]
    cells: Parts

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        return generators.box(values["size"], self.cells)


class Beam(Solid):
    """A box whose axis lies on the x axis, from the origin to `length`; sides as of a box."""

    length: Length
    width: Length
    height: Length
    cells: Parts

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        return generators.beam(values["length"], values["width"], values["height"], self.cells)


class Disc(Solid):
    """A disc around the origin, in rings of triangles; bodies centre, rim."""

    radius: Length
    rings: Annotated[Count, fitting(lambda rings: 6 * rings**2)]

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        return generators.disc(values["radius"], self.rings)


class FromFile(Solid):
    """A mesh from a file beside the scene; its numbers are in the unit `length` (default: the run's).

    Nodes of no cell are refused, or left out with `drop_unused`.
    """

    file: str
    length: str | None = None
    drop_unused: bool = False

    def mesh(self, values: Mapping[str, Any], context: StateContext) -> Mesh:
        mesh, remarks = inspect(self.read(context.read(self.file)), self.drop_unused)
        context.remarks += remarks
        factor = 1.0 if self.length is None else context.units.convert(f"1 {self.length}", "m")
        return mesh.scaled(factor)

    def read(self, data: bytes) -> Mesh:
        """The mesh of the file, unchanged."""
        raise NotImplementedError


class FromGmsh(FromFile):
    """A mesh from a Gmsh file (MSH 4.1, text or bytes); physical groups are bodies."""

    def read(self, data: bytes) -> Mesh:
        return gmsh.read(self.file, data)


class FromMesh(FromFile):
    """A mesh in another format of one file (VTK, VTU, Abaqus, Nastran, ...), with the extra `mesh`."""

    def read(self, data: bytes) -> Mesh:
        return read_foreign(self.file, data)


STATES = {
    "rectangle": Rectangle,
    "box": Box,
    "beam": Beam,
    "disc": Disc,
    "gmsh": FromGmsh,
    "mesh": FromMesh,
}


def solid(
    mesh: Mesh,
    density: float,
    thickness: float = 1.0,
    origin: Sequence[float] = (),
    velocity: Sequence[float] = (),
) -> State:
    """The state of an undeformed body; in the plane, of a sheet.

    Raises `UserError` if a kind of cells has the name of a list that every body has.
    """
    n, d = mesh.points.shape
    x = mesh.points + np.array(origin or np.zeros(d))
    v = np.tile(np.array(velocity or np.zeros(d), float), (n, 1))
    thick = thickness if d == 2 else 1.0
    cells = {"gradients": mesh.gradients(), "volume": mesh.volumes() * thick}
    kinds = {k: e for k, e in mesh.cell_bodies.items() if len(e) < len(mesh.cells)}
    if taken := [k for k in kinds if k in ("cells", "edges", "boundary")]:
        raise UserError(
            f"{mesh.source}: its cells '{taken[0]}' are called like a list of every body; rename them"
        )
    edges, boundary = mesh.edges(), mesh.boundary()
    rest = np.linalg.norm(mesh.points[edges[:, 0]] - mesh.points[edges[:, 1]], axis=1)
    return State(
        fields={"x": x, "v": v, "m": mesh.lumped(density * thick)},
        units={"x": "m", "v": "m s^-1", "m": "kg"},
        motions=(Motion("x", "v", "m"),),
        bodies=tuple(Body(name, nodes) for name, nodes in mesh.bodies.items()),
        tuples={"cells": mesh.cells, "edges": edges, "boundary": boundary}
        | {kind: mesh.cells[e] for kind, e in kinds.items()},
        data={
            "cells": cells,
            "edges": {"rest": rest},
            "boundary": {"area": areas(mesh.points[boundary]) * thick},
        }
        | {kind: {what: values[e] for what, values in cells.items()} for kind, e in kinds.items()},
        labels={"x": "position", "v": "velocity", "m": "mass"},
        shown=("cells",),
    )


def areas(facets: np.ndarray) -> np.ndarray:
    """Of facets with corners (B, d, d): lengths for d = 2, areas of triangles for d = 3."""
    legs = facets[:, 1:] - facets[:, :1]
    grams = legs @ legs.transpose(0, 2, 1)
    return np.sqrt(np.linalg.det(grams)) / factorial(legs.shape[1])
